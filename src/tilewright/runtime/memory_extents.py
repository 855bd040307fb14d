"""The addresses of the arrays of a launch, and which of them overlap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tilewright.runtime.arrays import NumpyArray


@dataclass(frozen=True)
class Aliases:
    """Pointer arguments of a launch by name: groups in one allocation, and at one address."""

    overlapping: tuple[tuple[str, ...], ...] = ()
    same_start: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Memory:
    """Where an array is: its first element, and the bytes from `low` to `high`."""

    start: int
    low: int
    high: int

    @property
    def count(self) -> int | None:
        """Bytes from the first element on; None if there are elements before it."""
        return None if self.low < self.start else self.high - self.start


def extent_of(array: NumpyArray) -> Memory:
    start = array.ctypes.data
    if not array.size:
        return Memory(start, start, start)
    reach = [
        (extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)
    ]
    below, above = sum(r for r in reach if r < 0), sum(r for r in reach if r > 0)
    return Memory(start, start + below, start + above + array.itemsize)


def aliases_of(found: Sequence[tuple[str, Memory]]) -> Aliases:
    """Which arrays of a launch overlap, as those of a kernel that works in place."""
    found = [(name, memory) for name, memory in found if memory.low < memory.high]
    overlapping: list[list[str]] = []
    starts: dict[int, list[str]] = {}
    end = -1
    for name, memory in sorted(found, key=lambda pair: pair[1].low):
        if memory.low >= end:
            overlapping.append([])
        overlapping[-1].append(name)
        end = max(end, memory.high)
        starts.setdefault(memory.start, []).append(name)
    return Aliases(_several(overlapping), _several(starts.values()))


def _several(groups: Iterable[list[str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(sorted(group)) for group in groups if len(group) > 1)
