"""Shared memory as TMA writes it and ``wgmma`` reads it: permuted 16-byte units.

The hardware swizzles addresses. With a width of 128, 64 or 32 bytes it XORs address bits 7 and up
(the index of the 128-byte line) into bits 4 and up (the unit)::

    128 B: bits 4–6 ^= bits 7–9      64 B: bits 4–5 ^= bits 7–8      32 B: bit 4 ^= bit 7

A tile's rows are cut into chunks as wide as the swizzle; the same chunk of eight rows is an *atom*.
Atoms follow down the rows, and then comes the next chunk of the row. This holds for any number of
rows that is a multiple of 8, power of two or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tilewright.layouts.index_map import Layout

UNIT_BYTES = 16
LINE_BYTES = 128
ATOM_ROWS = 8
SWIZZLE_WIDTHS = (128, 64, 32, 0)
"""All widths in bytes, widest first; 0 is none."""


def swizzle_address(address: Any, width: int) -> Any:
    """The address at which the hardware finds what a plain layout puts at `address`."""
    if width == 0:
        return address
    units = _units(width)
    return address ^ address // LINE_BYTES % units * UNIT_BYTES


def _units(width: int) -> int:
    if width not in SWIZZLE_WIDTHS:
        raise ValueError(f"swizzle width is {width} bytes, expected 0, 32, 64 or 128")
    return width // UNIT_BYTES


def pattern_bytes(width: int) -> int:
    """The alignment a buffer needs for the pattern to start at its first byte."""
    return max(LINE_BYTES, ATOM_ROWS * width)


def choose_swizzle(columns: int, element_bits: int) -> int | None:
    """The widest swizzle for rows of this many elements; None if they do not fill 16-byte units."""
    row_bytes, rest = divmod(columns * element_bits, 8)
    if rest or row_bytes % UNIT_BYTES:
        return None
    return next(width for width in SWIZZLE_WIDTHS if width == 0 or row_bytes % width == 0)


def swizzled_tile(shape: Sequence[int], element_bits: int, width: int) -> Layout:
    """A tile of rows in shared memory, as (chunk of the row, atom, offset in the atom).

    The last two dimensions are rows and columns; dimensions before them (stages) stay outside.
    """
    *outer, rows, columns = shape
    vector = UNIT_BYTES * 8 // element_bits
    units = max(1, _units(width))
    if columns % (vector * units) or rows % ATOM_ROWS:
        raise ValueError(
            f"{rows} x {columns} elements of {element_bits} bits are not divisible into "
            f"{ATOM_ROWS} rows of {max(UNIT_BYTES, width)} bytes"
        )
    shift = ATOM_ROWS // units

    def forward(i: Any, j: Any) -> tuple[Any, Any, Any]:
        unit = j // vector
        row = i % ATOM_ROWS
        moved = unit % units ^ row // shift if units > 1 else unit % units
        inside = row * (units * vector) + moved * vector + j % vector
        return unit // units, i // ATOM_ROWS, inside

    tile = Layout((rows, columns), forward)
    return tile.with_outer(*outer) if outer else tile


def tile_address(shape: Sequence[int], element_bits: int, width: int) -> Layout:
    """The same tile, with the byte address (from an aligned base) as its one coordinate.

    Computed as the hardware does: chunks are contiguous, then the address is swizzled.
    """
    rows, columns = shape
    chunk = max(UNIT_BYTES, width) * 8 // element_bits
    size = element_bits // 8

    def forward(i: Any, j: Any) -> Any:
        plain = (j // chunk * rows + i) * chunk + j % chunk
        return swizzle_address(plain * size, width)

    return Layout((rows, columns), forward)
