"""Which core processes which blocks of a launch grid.

    contiguous   core c: base + (c < rem) blocks from c*base + min(c, rem) on
    strided      core c: blocks c, c + C, c + 2C, ...
    rect         a rectangle of rows and columns of blocks per core

Cores are numbered row by row over the logical grid: core c is at (c mod W, c div W).
"""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.dialects.tensix.plan import Assignment

POLICIES = ("contiguous", "strided", "rect")

CoreRange = tuple[int, int, int, int, int, int]
"""``[start_x, start_y, end_x, end_y, start, count]``."""


def assign(
    policy: str, grid: tuple[int, int, int], cores: tuple[int, int]
) -> tuple[Assignment, ...]:
    """The blocks of every core, inactive ones included."""
    width, height = cores
    total = grid[0] * grid[1] * grid[2]
    if policy == "rect":
        return _rectangles(grid, cores)
    count = width * height
    base, rest = divmod(total, count)
    found: list[Assignment] = []
    for core in range(count):
        if policy == "strided":
            start, blocks = core, max(0, (total - core + count - 1) // count)
        else:
            start, blocks = core * base + min(core, rest), base + (core < rest)
        found.append(Assignment(core, core % width, core // width, start, blocks))
    return tuple(found)


def rectangle_grid(rows: int, columns: int, cores: tuple[int, int]) -> tuple[int, int]:
    """The core rows and columns over which blocks are distributed as rectangles.

    The largest rectangle is as small as possible; then as many cores as possible, then a rectangle
    that is as square as possible.
    """
    width, height = cores

    def cost(candidate: tuple[int, int]) -> tuple[int, int, int]:
        high, wide = -(-rows // candidate[0]), -(-columns // candidate[1])
        return high * wide, -candidate[0] * candidate[1], abs(high - wide)

    candidates = [
        (down, across)
        for down in range(1, min(height, rows) + 1)
        for across in range(1, min(width, columns) + 1)
    ]
    return min(candidates, key=cost)


def _rectangles(grid: tuple[int, int, int], cores: tuple[int, int]) -> tuple[Assignment, ...]:
    columns, rows, batches = grid
    down, across = rectangle_grid(rows, columns, cores)
    high, wide = -(-rows // down), -(-columns // across)
    found: list[Assignment] = []
    for core in range(cores[0] * cores[1]):
        x, y = core % cores[0], core // cores[0]
        row0, col0 = y * high, x * wide
        own = (min(high, rows - row0), min(wide, columns - col0))
        if y >= down or x >= across or min(own) <= 0:
            found.append(Assignment(core, x, y, 0, 0, (0, 0, 0, 0)))
            continue
        first = row0 * columns + col0
        found.append(Assignment(core, x, y, first, own[0] * own[1] * batches, (row0, col0, *own)))
    return tuple(found)


def blocks_of(
    each: Assignment, policy: str, grid: tuple[int, int, int], num_cores: int
) -> Sequence[int]:
    """The block ids of a core, in its order."""
    if policy == "strided":
        return range(each.start_tile, each.start_tile + each.count * num_cores, num_cores)
    if policy == "contiguous" or each.rect is None:
        return range(each.start_tile, each.start_tile + each.count)
    columns, rows, batches = grid
    row0, col0, high, wide = each.rect
    return [
        (batch * rows + row) * columns + column
        for batch in range(batches)
        for row in range(row0, row0 + high)
        for column in range(col0, col0 + wide)
    ]


def core_ranges(assignments: Sequence[Assignment]) -> tuple[CoreRange, ...]:
    """One row per active core."""
    return tuple(
        (each.x, each.y, each.x, each.y, each.start_tile, each.count)
        for each in assignments
        if each.count
    )


def rectangles(cores: Sequence[tuple[int, int]]) -> tuple[tuple[int, int, int, int], ...]:
    """Maximal rectangles that cover `cores`: runs of a row first, equal runs of rows merged."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for y in sorted({y for _, y in cores}):
        rows[y] = _runs(sorted(x for x, other in cores if other == y))
    found: list[tuple[int, int, int, int]] = []
    for y, runs in rows.items():
        for start, end in runs:
            above = next(
                (n for n, r in enumerate(found) if (r[0], r[2], r[3]) == (start, end, y - 1)), None
            )
            if above is None:
                found.append((start, y, end, y))
            else:
                x0, y0, x1, _ = found[above]
                found[above] = (x0, y0, x1, y)
    return tuple(found)


def _runs(columns: Sequence[int]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for x in columns:
        if found and found[-1][1] == x - 1:
            found[-1] = (found[-1][0], x)
        else:
            found.append((x, x))
    return found
