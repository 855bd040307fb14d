"""A hand-written GEMM runs in the IR executor: values, traffic, and no findings under many seeds."""

import numpy as np
import pytest

from tests.targets.tenstorrent.machine.gemm_ir import (
    TEXT,
    gemm_program,
    inputs_of,
    kernels_of,
    matrix,
    pages,
)
from tilewright.targets.tenstorrent.execution import Numerics, RunOptions
from tilewright.targets.tenstorrent.machine import run_kernels


def _run(m, n, k, grid, **options):
    a, b = inputs_of(m, n, k)
    result = run_kernels(
        gemm_program(m, n, k, grid),
        kernels_of(TEXT),
        {"A": pages(a), "B": pages(b)},
        RunOptions(**options),
    )
    result.raise_for_findings()
    expected = (a.astype(np.float32) @ b.astype(np.float32)).astype(a.dtype)
    return result, matrix(result.buffers["C"], 32 * m, 32 * n), expected


@pytest.mark.parametrize("seed", range(6))
def test_values_do_not_depend_on_the_schedule(seed):
    _, found, expected = _run(2, 2, 3, (2, 1), seed=seed)
    np.testing.assert_array_equal(found, expected)


def test_the_256_cube_on_64_cores():
    result, found, expected = _run(8, 8, 8, (8, 8), seed=4)
    np.testing.assert_array_equal(found, expected)
    assert result.traffic.dram_page_reads == 1024
    assert result.traffic.dram_page_writes == 64


def test_device_like_numerics_stay_close():
    draw = np.random.default_rng(1)
    a, b = (draw.standard_normal((96, 96)).astype(inputs_of(1, 1, 1)[0].dtype) for _ in range(2))
    result = run_kernels(
        gemm_program(3, 3, 3, (2, 2)),
        kernels_of(TEXT),
        {"A": pages(a), "B": pages(b)},
        RunOptions(seed=5, numerics=Numerics.DEVICE),
    )
    result.raise_for_findings()
    found = matrix(result.buffers["C"], 96, 96).astype(np.float64)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert np.linalg.norm(found - expected) <= 2**-6 * np.linalg.norm(expected)
