"""P4 for overlap: which programs access which bytes, for all accesses to one buffer together.

Memory is cut into units that no access splits. Of the programs that access a unit only the first
and the last matter: two accesses conflict between programs exactly if the programs of both together
are not a single one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np

from tilewright.analysis.affine.arrays import IntArray
from tilewright.analysis.pid_address.checks.enumeration import Enumeration, NotEnumerable

MAX_UNITS = 1 << 24
"""Units of memory that a table may have."""
MAX_SEPARATE = 1 << 22
"""Elements whose addresses are sorted if they are too far apart for a table."""


@dataclass(frozen=True)
class SharedElement:
    """Two programs at one address."""

    first: int
    second: int
    address: int
    """Of the unit."""


class Ownership:
    """First and last program of every unit, per access."""

    def __init__(self, accesses: Sequence[Enumeration]) -> None:
        self.unit, low, high = _frame(accesses)
        self._units = _UnitIndex(accesses, self.unit, low, high)
        self._owners = [self._owners_of(points) for points in accesses]

    def _owners_of(self, points: Enumeration) -> tuple[IntArray, IntArray]:
        count = len(self._units)
        first = np.full(count, -1, dtype=np.int64)
        last = np.full(count, -1, dtype=np.int64)
        for chunk in points.chunks():
            owners = np.broadcast_to(
                chunk.programs.reshape(-1, *(1,) * (chunk.active.ndim - 1)), chunk.active.shape
            )[chunk.active]
            offsets = chunk.offset[chunk.active]
            for shift in range(0, points.region.size, self.unit):
                at = self._units.indices(offsets + shift)
                last[at] = owners
                fresh = first[at] < 0
                # Of repeated indices the last assignment counts, so the order is turned round.
                first[at[fresh][::-1]] = owners[fresh][::-1]
        return first, last

    def conflict(self, left: int, right: int) -> SharedElement | None:
        """Different programs of two accesses at one unit: least programs, then least address."""
        first, last = self._owners[left]
        other_first, other_last = self._owners[right]
        both = (first >= 0) & (other_first >= 0)
        candidates = [
            (first, other_first),
            (first, other_last),
            (last, other_first),
        ]
        best: SharedElement | None = None
        for own, other in candidates:
            units = np.flatnonzero(both & (own != other))
            if not units.size:
                continue
            order = np.lexsort((units, other[units], own[units]))
            at = int(units[order[0]])
            found = SharedElement(int(own[at]), int(other[at]), self._units.address(at))
            if best is None or (found.first, found.second) < (best.first, best.second):
                best = found
        return best


class _UnitIndex:
    """Indices of units: by distance if they are close together, by rank otherwise."""

    def __init__(self, accesses: Sequence[Enumeration], unit: int, low: int, high: int) -> None:
        self.unit = unit
        self.low = low
        self.count = (high - low) // unit + 1
        self.sorted: IntArray | None = None
        if self.count > MAX_UNITS:
            self.sorted = self._rank(accesses)
            self.count = len(self.sorted)

    def _rank(self, accesses: Sequence[Enumeration]) -> IntArray:
        if sum(points.points for points in accesses) > MAX_SEPARATE:
            raise NotEnumerable("its addresses are too far apart to be enumerated", is_limit=True)
        parts = [
            np.unique(chunk.offset[chunk.active] + shift)
            for points in accesses
            for chunk in points.chunks()
            for shift in range(0, points.region.size, self.unit)
        ]
        return np.unique(np.concatenate(parts))

    def __len__(self) -> int:
        return self.count

    def indices(self, offsets: IntArray) -> IntArray:
        if self.sorted is not None:
            return np.searchsorted(self.sorted, offsets)
        return ((offsets - self.low) // self.unit).astype(np.int64)

    def address(self, index: int) -> int:
        if self.sorted is not None:
            return int(self.sorted[index])
        return self.low + index * self.unit


def _frame(accesses: Sequence[Enumeration]) -> tuple[int, int, int]:
    """(unit, first address, last address) over everything that is accessed."""
    unit, low, high = 0, None, None
    for points in accesses:
        unit = gcd(unit, points.region.size)
        for chunk in points.chunks():
            offsets = chunk.offset[chunk.active]
            if not offsets.size:
                continue
            lowest, highest = int(offsets.min()), int(offsets.max())
            low = lowest if low is None else min(low, lowest)
            high = highest if high is None else max(high, highest)
            unit = gcd(unit, int(np.gcd.reduce(offsets - low)))
    if low is None or high is None:
        return max(unit, 1), 0, 0
    return unit, low, high + max(points.region.size for points in accesses)
