"""The memory that a layout of a tensor addresses, without looking at every element.

Tensors have too many elements for the enumeration that decides questions about tiles. Bounds of the
physical coordinates follow from the extents by interval arithmetic; they are exact for layouts that
split and permute digits of the coordinates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.dialects.tile.expressions import Binary, Constant, Coordinate, LayoutExpr
from tilewright.dialects.tile.maps import LayoutMap

Interval = tuple[int, int]
"""The lowest and the highest value."""


def physical_box(map: LayoutMap) -> tuple[int, ...] | None:
    """A shape that holds all physical coordinates; None if one may be negative."""
    found = [interval_of(each, map.extents) for each in map.results]
    if any(low < 0 for low, _ in found):
        return None
    return tuple(high + 1 for _, high in found)


def interval_of(expression: LayoutExpr, extents: Sequence[int]) -> Interval:
    """Bounds of an expression whose coordinates are below `extents`."""
    if isinstance(expression, Constant):
        return expression.value, expression.value
    if isinstance(expression, Coordinate):
        return 0, max(0, extents[expression.index] - 1)
    assert isinstance(expression, Binary)
    left, right = (interval_of(each, extents) for each in (expression.left, expression.right))
    return _combined(expression.operator, left, right)


def _combined(operator: str, left: Interval, right: Interval) -> Interval:
    (a, b), (c, d) = left, right
    if operator == "+":
        return a + c, b + d
    if operator == "-":
        return a - d, b - c
    if operator == "*":
        ends = (a * c, a * d, b * c, b * d)
        return min(ends), max(ends)
    if operator == "xor":
        return (0, (1 << max(b, d).bit_length()) - 1) if a >= 0 and c >= 0 else (-1, max(b, d))
    if c != d or c <= 0:
        return min(a, 0), max(b, d)
    if operator == "floordiv":
        return a // c, b // c
    return (a % c, b % c) if a // c == b // c else (0, c - 1)


def offsets_of(map: LayoutMap) -> np.ndarray:
    """The offset of every element of a tensor in memory, in its logical order."""
    box = physical_box(map)
    assert box is not None
    total: Any = np.zeros(map.extents, dtype=np.int64)
    points = np.ogrid[tuple(slice(extent) for extent in map.extents)]
    for size, each in zip(box, map.evaluate(*points), strict=True):
        total = total * size + each
    return np.broadcast_to(total, map.extents)
