"""The boxes in which TMA moves a tile laid out by `swizzle.swizzled_tile`.

A box is at most 256 elements long in each dimension, and its rows are as wide as the swizzle: one
chunk of the tile's rows. Boxes are contiguous in shared memory, each starting where the swizzle's
pattern does, so a box of more than 256 rows is cut at a multiple of eight rows. Without a swizzle,
a box is 16 bytes wide.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.layouts.hardware.swizzle import ATOM_ROWS, UNIT_BYTES, swizzle_address

BOX_LIMIT = 256


@dataclass(frozen=True)
class TmaBox:
    """One copy: which part of the tile, and where it goes."""

    row: int
    column: int
    rows: int
    columns: int
    offset_bytes: int
    """From the start of the tile in shared memory."""

    def address(self, row: int, column: int, element_bits: int, swizzle: int) -> int:
        """Where TMA puts an element of the box, counted from the start of the tile."""
        plain = (row * self.columns + column) * element_bits // 8
        return swizzle_address(self.offset_bytes + plain, swizzle)


def box_shape(rows: int, columns: int, element_bits: int, swizzle: int) -> tuple[int, int]:
    """The rows and columns of every box of a tile, as the tensor map has them."""
    width = max(UNIT_BYTES, swizzle) * 8 // element_bits
    if columns % width or rows % ATOM_ROWS:
        raise ValueError(
            f"{rows} x {columns} elements of {element_bits} bits are not divisible into "
            f"{ATOM_ROWS} rows of {max(UNIT_BYTES, swizzle)} bytes"
        )
    height = next(
        size for size in range(min(rows, BOX_LIMIT), 0, -1) if rows % size == 0 and size % 8 == 0
    )
    return height, width


def tma_boxes(rows: int, columns: int, element_bits: int, swizzle: int) -> list[TmaBox]:
    """All copies of a tile, in the order of their shared-memory addresses."""
    height, width = box_shape(rows, columns, element_bits, swizzle)
    size = height * width * element_bits // 8
    starts = [
        (row, column) for column in range(0, columns, width) for row in range(0, rows, height)
    ]
    return [
        TmaBox(row, column, height, width, index * size)
        for index, (row, column) in enumerate(starts)
    ]
