"""Tiles in pieces for the copy engine."""

from __future__ import annotations

import pytest

from tilewright.analysis.layout_inference.table import NotALayout
from tilewright.passes.gpu.lower.tma_boxes import TmaBoxes


@pytest.mark.parametrize(
    ("extents", "swizzle", "box", "count"),
    [
        ((128, 64), 128, (128, 64), 1),
        ((128, 128), 128, (128, 64), 2),
        ((1, 128, 1, 128), 128, (1, 128, 1, 64), 2),  # rows are not next to columns
        ((1, 1, 128, 96), 64, (1, 1, 128, 32), 3),
        ((2, 64, 128), 128, (1, 64, 64), 4),  # matrix by matrix
        ((1, 256), 128, (1, 64), 4),
        ((8, 512), 0, None, 0),
    ],
)
def test_pieces_are_as_wide_as_the_pattern(
    extents: tuple[int, ...], swizzle: int, box: tuple[int, ...] | None, count: int
) -> None:
    if box is None:
        with pytest.raises(NotALayout, match="at most 256 elements per dimension"):
            TmaBoxes.of(extents, 16, swizzle)
        return
    boxes = TmaBoxes.of(extents, 16, swizzle)
    assert boxes.box == box
    assert len(boxes.starts) == count
