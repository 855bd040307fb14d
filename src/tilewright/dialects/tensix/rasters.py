"""Rasters: bijections from block ids to the rows and columns of an output grid.

    row_major        by = t // nt             bx = t % nt
    column_major     bx = t // mt             by = t % mt
    block_linear     bands of BH rows, in them blocks of BW columns, in those row-major;
                     the last band and the last block keep their real size
    z_order          Morton order: the bits of row and column interleaved
    hilbert          the Hilbert curve, generalised for rectangles: all steps are adjacent

L1 is not a cache: an order saves DRAM reads only through panel residency or multicast.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from tilewright.dialects.tensix.curves import hilbert, morton

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
        """Whether device code looks the order up: there is no closed form for any grid."""
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
        return _positions(self, rows, columns)[row, column]


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
        return morton(rows, columns)
    if raster.policy == "hilbert":
        return hilbert(rows, columns)
    return tuple(raster.at(tile, rows, columns) for tile in range(rows * columns))


@lru_cache(maxsize=64)
def _positions(raster: Raster, rows: int, columns: int) -> dict[tuple[int, int], int]:
    return {point: tile for tile, point in enumerate(_table(raster, rows, columns))}
