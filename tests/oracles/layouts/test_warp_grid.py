"""How warps share the tile of a GEMM."""

from __future__ import annotations

import pytest

from tests.oracles.layouts.block_fragments import mma_accumulator
from tests.oracles.layouts.warp_grid import Policy, warp_grid, warp_grids


@pytest.mark.parametrize(
    ("m", "n", "warps", "policy", "wgmma", "grid"),
    [
        (128, 128, 4, "square", False, (2, 2)),
        (128, 128, 8, "square", False, (4, 2)),
        (256, 64, 4, "square", False, (4, 1)),
        (64, 256, 4, "square", False, (1, 4)),
        (128, 128, 4, "full_row", False, (4, 1)),
        (128, 128, 4, "full_col", False, (1, 4)),
        (32, 128, 4, "full_row", False, (2, 2)),
        (128, 16, 4, "full_col", False, (2, 2)),
        (128, 176, 8, "square", True, (4, 2)),
        (128, 128, 8, "full_row", True, (8, 1)),
        (16, 8, 4, "square", False, None),
        (128, 128, 6, "square", False, None),
    ],
)
def test_grids(m: int, n: int, warps: int, policy: Policy, wgmma: bool, grid: tuple[int, int] | None):  # fmt: skip
    assert warp_grid(m, n, warps, policy, wgmma) == grid


def test_every_grid_can_be_laid_out():
    grids = warp_grids(96, 80, 4)
    assert grids == [(2, 2)]
    assert warp_grids(96, 160, 6) == [(3, 2), (6, 1)]
    for rows, columns in warp_grids(96, 160, 6):
        assert mma_accumulator((96, 160), (rows, columns)).is_complete()
