"""Rasters: bijections from block ids to the rows and columns of an output grid.

    row_major        by = t // nt             bx = t % nt
    column_major     bx = t // mt             by = t % mt
    block_linear     bands of BH rows, in them blocks of BW columns, in those row-major;
                     the last band and the last block keep their real size
    z_order          Morton order of the enclosing square, points outside the grid left out
    hilbert          the Hilbert curve of the enclosing square, points outside left out

L1 is not a cache: an order saves DRAM reads only through panel residency or multicast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

POLICIES = ("row_major", "column_major", "block_linear", "z_order", "hilbert")
CLOSED_FORMS = ("row_major", "column_major", "block_linear")
"""Policies that device code computes; the others are tables."""


@dataclass(frozen=True)
class Raster:
    """One order of the blocks of a grid."""

    policy: str
    block: tuple[int, int] | None = None

    @property
    def is_table(self) -> bool:
        """Whether device code needs the order as a table, for grids that are constant."""
        return self.policy not in CLOSED_FORMS

    def at(self, tile: int, rows: int, columns: int) -> tuple[int, int]:
        """The row and the column of block `tile`."""
        if self.policy == "row_major":
            return tile // columns, tile % columns
        if self.policy == "column_major":
            return tile % rows, tile // rows
        if self.policy == "block_linear":
            assert self.block is not None
            return _block_linear(tile, rows, columns, *self.block)
        return self.table(rows, columns)[tile]

    def table(self, rows: int, columns: int) -> tuple[tuple[int, int], ...]:
        """All blocks in order."""
        return _table(self, rows, columns)

    def inverse(self, row: int, column: int, rows: int, columns: int) -> int:
        """The id of a block."""
        if self.policy == "row_major":
            return row * columns + column
        if self.policy == "column_major":
            return column * rows + row
        if self.policy == "block_linear":
            assert self.block is not None
            return _block_linear_inverse(row, column, rows, columns, *self.block)
        return self.table(rows, columns).index((row, column))


def _block_linear(tile: int, rows: int, columns: int, height: int, width: int) -> tuple[int, int]:
    band = tile // (height * columns)
    rest = tile - band * height * columns
    band_rows = min(height, rows - band * height)
    block = rest // (band_rows * width)
    inside = rest - block * band_rows * width
    block_columns = min(width, columns - block * width)
    return band * height + inside // block_columns, block * width + inside % block_columns


def _block_linear_inverse(
    row: int, column: int, rows: int, columns: int, height: int, width: int
) -> int:
    band, block = row // height, column // width
    band_rows = min(height, rows - band * height)
    block_columns = min(width, columns - block * width)
    before = band * height * columns + block * band_rows * width
    return before + (row - band * height) * block_columns + column - block * width


@lru_cache(maxsize=64)
def _table(raster: Raster, rows: int, columns: int) -> tuple[tuple[int, int], ...]:
    if raster.policy == "z_order":
        return _inside(_z_order, rows, columns)
    if raster.policy == "hilbert":
        return _inside(_hilbert, rows, columns)
    return tuple(raster.at(tile, rows, columns) for tile in range(rows * columns))


def _inside(
    curve: Callable[[int, int], tuple[int, int]], rows: int, columns: int
) -> tuple[tuple[int, int], ...]:
    """The points of a curve over the enclosing square that are inside the grid."""
    side = 1
    while side < max(rows, columns):
        side *= 2
    points = [curve(distance, side) for distance in range(side * side)]
    return tuple((y, x) for y, x in points if y < rows and x < columns)


def _z_order(distance: int, side: int) -> tuple[int, int]:
    del side
    row = column = 0
    bit = 0
    while distance >> (2 * bit):
        column |= ((distance >> (2 * bit)) & 1) << bit
        row |= ((distance >> (2 * bit + 1)) & 1) << bit
        bit += 1
    return row, column


def _hilbert(distance: int, side: int) -> tuple[int, int]:
    x = y = 0
    size = 1
    while size < side:
        right = 1 & (distance // 2)
        up = 1 & (distance ^ right)
        if up == 0:
            if right == 1:
                x, y = size - 1 - x, size - 1 - y
            x, y = y, x
        x += size * right
        y += size * up
        distance //= 4
        size *= 2
    return y, x
