"""What each program of a batch covers: from its first granule to its last.

If these spans do not overlap, no two programs share a granule, whatever they access in between.
That is cheap to maintain: the ends of an access by windows follow from the starts of the windows,
and a batch of 64 programs is 64 pairs of integers, however many lanes they have.

Spans that are only read may overlap; so nothing is compared before the first write of the batch.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from tilewright.targets.numpy.access_hooks import CellAccess
from tilewright.targets.numpy.api import Array
from tilewright.targets.numpy.selections import Selection, Windows

_Ends: TypeAlias = tuple[Array, Array]

_NOWHERE = np.iinfo(np.int64).max


class Spans:
    """The spans of the programs of one batch in one block."""

    def __init__(self, programs: Array) -> None:
        self._first = int(programs[0]) + 1
        count = int(programs[-1]) + 2 - self._first
        # Empty spans: the low end is above the high end.
        self._low = np.full(count, _NOWHERE, np.int64)
        self._high = np.full(count, -1, np.int64)
        self._is_written = False

    def admit(self, access: CellAccess, *, writes: bool) -> bool:
        """Extend the spans by an access; False if they may overlap then."""
        if isinstance(access.first, int):
            return False
        low, high = _ends(access.selection)
        positions = access.first - self._first
        np.minimum.at(self._low, positions, low)
        np.maximum.at(self._high, positions, high)
        self._is_written |= writes
        return not self._is_written or self._are_apart()

    def _are_apart(self) -> bool:
        used = self._high >= 0
        low, high = self._low[used], self._high[used]
        order = np.argsort(low)
        return bool((high[order][:-1] < low[order][1:]).all())


def _ends(selection: Selection) -> _Ends:
    """The least and the greatest granule of each entry along axis 0."""
    if not isinstance(selection, Windows):
        return _extremes(selection.index)
    starts, below, above = selection.starts, selection.below, selection.above
    if not isinstance(starts, int):
        low, high = _extremes(starts)
        return low - below, high + above
    # Axis 0 is an axis of the window: take it out of its reach.
    extent, stride = selection.extents[0], selection.strides[0]
    positions = starts + np.arange(extent, dtype=np.int64) * stride
    reach = stride * (extent - 1)
    return positions - (below + min(reach, 0)), positions + (above - max(reach, 0))


def _extremes(positions: Array) -> _Ends:
    if positions.ndim == 1:
        return positions, positions
    flat = positions.reshape(len(positions), -1)
    return np.minimum.reduce(flat, axis=1), np.maximum.reduce(flat, axis=1)
