"""How a buffer in shared memory that tensor cores read is laid out: a swizzle by its width.

The last two dimensions are the matrix; what is before them (the versions of a pipelined buffer)
stays outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tilewright.dialects.tile.attributes import LayoutAttr
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.layouts.hardware.swizzle import (
    ATOM_ROWS,
    choose_swizzle,
    pattern_bytes,
    swizzled_tile,
)


@dataclass(frozen=True)
class Swizzle:
    """The layout of a matrix in shared memory."""

    width: int
    """Bytes that are permuted among themselves; 0 for none."""
    rows: int
    columns: int
    bits: int

    def __str__(self) -> str:
        return f"{self.width}-byte swizzle"

    @property
    def alignment(self) -> int:
        return pattern_bytes(self.width)

    @property
    def pattern_columns(self) -> int:
        """Columns of one row of the swizzle pattern."""
        return self.width * 8 // self.bits if self.width else self.columns

    def attribute(self, outer: tuple[int, ...]) -> LayoutAttr:
        """The layout of a buffer with these outer dimensions, as an IR attribute."""
        shape = (*outer, self.rows, self.columns)
        layout = swizzled_tile(shape, self.bits, self.width)
        return LayoutAttr(LayoutMap.from_function(shape, layout.forward))


def for_matrix(rows: int, columns: int, bits: int, step: int | None = None) -> Swizzle | None:
    """The widest swizzle a matrix can have; None if it has to stay as it is.

    A row of the pattern must begin at every multiple of `step` columns.
    """
    if rows % ATOM_ROWS:
        return None
    width = choose_swizzle(columns if step is None else gcd(columns, step), bits)
    return None if not width else Swizzle(width, rows, columns, bits)
