"""Tiles of a GEMM that are stored in parts go through shared memory, as whole ones do."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.h200 import tutorial_cases
from benchmarks.h200.peers import our_kernels
from benchmarks.h200.raised_cases import TUTORIALS
from tests.passes.raising.launches import recorded
from tests.passes.raising.levels import compare

TILE = {"BM": 64, "BN": 64, "BK": 32, "GROUP": 2, "num_warps": 4, "num_stages": 2}


def _matrices(rows: int, columns: int, depth: int) -> list[np.ndarray]:
    rng = np.random.default_rng(rows)
    a, b = (rng.standard_normal((each, depth)).astype(np.float16) for each in (rows, columns))
    return [a, b, np.full((rows, columns), np.nan, np.float16)]


@pytest.mark.parametrize(("rows", "columns"), [(128, 128), (64, 200), (33, 72)])
def test_halves_of_a_tile(rows: int, columns: int) -> None:
    """Of the persistent matmul of Triton's tutorial 09, where the tile is stored in two halves."""
    a, b, c = _matrices(rows, columns, 64)
    with recorded() as found:
        our_kernels(TUTORIALS).own_descriptors_kernel[(2,)](a, b, c, rows, columns, 64, **TILE)
    expected = a.astype(np.float32) @ b.astype(np.float32).T
    np.testing.assert_allclose(c.astype(np.float32), expected, rtol=2e-3, atol=2e-2)
    kernel = compare(found[0][1], schedules=2)
    assert len(kernel.plan.staged) == 2


def test_halves_of_a_tile_are_stored_in_whole_rows() -> None:
    a, b, c = _matrices(256, 256, 128)
    kernel = our_kernels(TUTORIALS).own_descriptors_kernel.warmup(
        *(a, b, c, 256, 256, 128), grid=(2,), target="cuda:sm_90a", **tutorial_cases._TILE
    )
    source = kernel.raised.get_kernel_source()
    assert kernel.raised.n_spills == 0
    assert source.partition('extern "C"')[2].count("stmatrix_x4(") == 2
