"""What the last address of an op looked like, for when only numbers in it change.

In a loop over tiles the arrays of an address stay the same objects across iterations; only a
scalar offset changes. Then cached windows are valid again, shifted, and only their ends have to be
compared with those of the memory.
"""

from __future__ import annotations

from math import prod

from tilewright.targets.numpy.api import Array
from tilewright.targets.numpy.buffers import Slots
from tilewright.targets.numpy.selections import Selection, Windows
from tilewright.targets.numpy.terms import FEW_LANES, Parts, find_windows, shape_of


class Recent:
    """The windows of the last address of one op, relative to the numbers in it."""

    __slots__ = ("_high", "_low", "_parts", "_windows")

    def __init__(self) -> None:
        self._parts: tuple[Array, ...] = ()
        self._windows: Windows | None = None
        self._low = 0
        self._high = 0

    def find(self, slots: Slots, address: Parts) -> Selection | None:
        """As `Slots.find`."""
        origin = -slots.start
        parts: list[Array] = []
        for term in address:
            if term.ndim:
                parts.append(term)
            else:
                origin += int(term)
        if not self._has(parts):
            self._learn(tuple(parts), slots.itemsize)
        found = self._windows
        if found is None:
            return slots.find(address)
        if origin & (slots.itemsize - 1):
            return None
        shift = origin >> (slots.itemsize.bit_length() - 1)
        if self._low + shift < 0 or self._high + shift >= slots.count:
            return None
        starts = found.starts + shift
        selection = Windows(starts, found.extents, found.strides, found.below, found.above)
        return selection if slots.owns(selection) else None

    def _has(self, parts: list[Array]) -> bool:
        known = self._parts
        if not known or len(known) != len(parts):
            return False
        return all(map(_is, known, parts))

    def _learn(self, parts: tuple[Array, ...], itemsize: int) -> None:
        self._parts = parts
        self._windows = None
        shape = shape_of(parts) if parts else ()
        lanes = prod(shape)
        if lanes <= FEW_LANES:
            return
        found = find_windows(parts, 0, itemsize, shape, lanes)
        if found is not None:
            low, high = found.ends()
            self._windows, self._low, self._high = found, low, high


def _is(one: object, other: object) -> bool:
    return one is other
