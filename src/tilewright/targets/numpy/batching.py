"""How many programs run at once.

NumPy pays a fixed price for every operation and a small one for every element, so many programs
should share an operation; but arrays that leave the cache make every element dearer. A batch is
therefore as large as keeps its largest tensor within `TARGET_BYTES`. Batches do not straddle rows
of the grid where that can be helped: programs with the same `program_id(1)` then share whatever
depends on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tilewright.targets.numpy.api import Array, Grid

TARGET_BYTES = 1 << 19
MAX_BATCH = 1 << 13


def batch_size(grid: Grid, largest_bytes: int, forced: int | None) -> int:
    """Programs per batch, for a kernel whose largest tensor takes so many bytes."""
    programs = grid[0] * grid[1] * grid[2]
    if forced is not None:
        return max(1, min(forced, programs))
    needed = max(1, min(TARGET_BYTES // largest_bytes, MAX_BATCH, programs))
    row = max(1, grid[0])
    if needed <= row:
        # Equal parts of a row: seven programs in a row of eight would leave one alone.
        return -(-row // -(-row // needed))
    return needed - needed % row


def batches(grid: Grid, size: int, forced: int | None) -> Iterator[Array]:
    """The programs of each batch, in order."""
    programs = grid[0] * grid[1] * grid[2]
    row = grid[0]
    start = 0
    while start < programs:
        end = min(start + size, programs)
        if forced is None and size <= row:
            end = min(end, (start // row + 1) * row)
        yield np.arange(start, end, dtype=np.int64)
        start = end
