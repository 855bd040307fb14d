"""How the warps of a block share the tile of a GEMM.

``square`` makes each warp's part as near to a square as possible, which loads the fewest elements
of A and B; ``full_row`` puts all warps along M, so that each has whole rows; ``full_col`` puts all
of them along N. Parts consist of whole instructions: 16 x 8 for ``mma.sync``; for ``wgmma`` four
warps together take 64 rows.
"""

from __future__ import annotations

from typing import Literal

from tilewright.layouts.hardware.mma_sync import COLUMNS, ROWS

Policy = Literal["square", "full_row", "full_col"]
GROUP = 4
"""Warps that issue a wgmma together; they are along M."""


def warp_grids(m: int, n: int, num_warps: int, wgmma: bool = False) -> list[tuple[int, int]]:
    """All grids (along M, along N) into whose parts the tile can be cut, fewest rows first."""
    found: list[tuple[int, int]] = []
    for rows in range(1, num_warps + 1):
        if num_warps % rows or (wgmma and rows % GROUP):
            continue
        columns = num_warps // rows
        if m % (rows * ROWS) == 0 and n % (columns * COLUMNS) == 0:
            found.append((rows, columns))
    return found


def warp_grid(
    m: int, n: int, num_warps: int, policy: Policy = "square", wgmma: bool = False
) -> tuple[int, int] | None:
    """The grid that a policy chooses; None if no grid fits.

    A policy that puts all warps along one side gives way when that side is too short for them.
    """
    grids = warp_grids(m, n, num_warps, wgmma)
    if not grids:
        return None
    if policy == "full_row":
        return grids[-1]
    if policy == "full_col":
        return grids[0]
    return min(grids, key=lambda grid: (abs(m // grid[0] - n // grid[1]), -grid[0]))
