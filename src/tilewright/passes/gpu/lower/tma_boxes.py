"""How many TMA boxes cover a tile.

A swizzled matrix is stored in shared memory box after box, each as wide as the pattern; a plain one
row after row. One copy writes one box of all rows, so a wide tile takes several, matrix by matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from tilewright.analysis.copies.copy_instructions import MAX_BOX, plain_box_columns
from tilewright.analysis.layout_inference.table import NotALayout
from tilewright.dialects.tile.mixed import Mixed
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import TileRegion


@dataclass(frozen=True)
class TmaBoxes:
    """Equal boxes of a tile."""

    extents: tuple[int, ...]
    """Of the tile."""
    box: tuple[int, ...]
    """Of one box."""

    @classmethod
    def of(cls, extents: Sequence[int], bits: int, swizzle: int) -> TmaBoxes:
        """The boxes of a tile of these extents in a tensor."""
        *outer, columns = extents
        width = swizzle * 8 // bits if swizzle else plain_box_columns(extents, bits)
        if width is None:
            raise NotALayout(
                f"tile not divisible into TMA boxes: a box has at most {MAX_BOX} elements "
                f"per dimension, and {columns} elements of {bits} bits in {prod(outer)} "
                "rows cannot be split into equal boxes"
            )
        if width == columns:
            return cls(tuple(extents), tuple(extents))
        # The rows of a matrix need not be next to its columns: a tensor may have heads in between.
        rows = max((axis for axis, extent in enumerate(outer) if extent != 1), default=0)
        box = (extent if axis == rows else 1 for axis, extent in enumerate(outer))
        return cls(tuple(extents), (*box, width))

    @property
    def starts(self) -> list[tuple[int, ...]]:
        """The offset of each box within the tile."""
        steps = zip(self.extents, self.box, strict=True)
        return list(product(*(range(0, extent, step) for extent, step in steps)))

    def indices(self, code: IndexBuilder, part: TileRegion, start: Sequence[int]) -> list[Mixed]:
        """The offset of a box in a buffer that may have other dimensions of one element."""
        known = [at for at, extent in zip(start, self.extents, strict=True) if extent != 1]
        moved = dict(zip(part.axes, known, strict=True))
        return [
            combined(code, "+", offset, moved.get(axis, 0))
            for axis, offset in enumerate(part.offsets)
        ]
