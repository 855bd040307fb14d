"""Parts of buffers that asynchronous operations still read or write.

    copy issued         its destination must not be read or written, its source not written
    completed           by the wait for its group, or by the barrier it reports to

The check runs at every access of a buffer with pending operations, and is exact: accesses to
another stage of a multi-buffered array do not conflict. Parts are recorded as boxes of the array
they were issued on; where buffers share bytes, or views shape them differently, boxes are compared
by the bytes they cover.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault, count_text


@dataclass(eq=False)
class PendingWrite:
    """A box of an array that an operation works on."""

    data: Any
    """The array of the buffer."""
    box: Any
    """An index of it: slices."""
    name: str
    writes: bool
    what: str
    """The description of the operation."""
    site: int | None
    engine: str = ""
    """Operations of one engine that works in order do not disturb each other."""
    fix: Callable[[], str] = lambda: "wait for the operation before this"
    """What to do about an access that does not wait for the operation."""


class PendingSet:
    """What is pending in one buffer, or in one arena."""

    __slots__ = ("parts",)

    def __init__(self) -> None:
        self.parts: list[PendingWrite] = []

    def add(self, part: PendingWrite) -> None:
        self.parts.append(part)

    def remove(self, part: PendingWrite) -> None:
        self.parts = [each for each in self.parts if each is not part]

    def check(self, name: str, data: Any, index: Any, *, writes: bool, engine: str = "") -> None:
        """Report an access that conflicts with a pending operation."""
        for part in self.parts:
            if not (writes or part.writes) or (engine and part.engine == engine):
                continue
            shared = overlap(part, data, index)
            if shared:
                raise _problem(part, name, shared, writes)


def overlap(part: PendingWrite, data: Any, index: Any) -> int:
    """How many elements of an access overlap the bytes of `part`."""
    if part.data is data and _is_box(index) and _is_box(part.box):
        return _common(part.box, index, data.shape)
    if not np.may_share_memory(part.data, data):  # another version of the buffer
        return 0
    occupied = _covered(part.data, part.box)
    low = occupied.min() if occupied.size else 0
    addresses = _covered(data, index)
    if not occupied.size or not addresses.size:
        return 0
    ends = addresses + data.dtype.itemsize
    high = occupied.max() + part.data.dtype.itemsize
    inside = (addresses < high) & (ends > low)
    if not inside.any():
        return 0
    covered = np.zeros(int(high - low), np.bool_)
    for byte in range(part.data.dtype.itemsize):
        covered[occupied - low + byte] = True
    hit = np.zeros(int(inside.sum()), np.bool_)
    for byte in range(data.dtype.itemsize):
        offset = np.clip(addresses[inside] - low + byte, 0, len(covered) - 1)
        hit |= (
            covered[offset] & (addresses[inside] + byte >= low) & (addresses[inside] + byte < high)
        )
    return int(hit.sum())


def _common(one: Any, other: Any, shape: tuple[int, ...]) -> int:
    """How many elements two boxes have in common."""
    count = 1
    for a, b, extent in zip(one, other, shape, strict=True):
        low, high = max(a.start or 0, b.start or 0), extent
        for each in (a, b):
            high = high if each.stop is None else min(high, each.stop)
        count *= max(high - low, 0)
    return count


def _is_box(index: Any) -> bool:
    return all(isinstance(each, slice) for each in index)


def _opened(box: Any, shape: tuple[int, ...]) -> list[Any]:
    """Slices as arrays that broadcast to the box."""
    rank = len(shape)
    return [
        np.arange(*each.indices(extent), dtype=np.int64).reshape(
            [-1 if a == axis else 1 for a in range(rank)]
        )
        for axis, (each, extent) in enumerate(zip(box, shape, strict=True))
    ]


def _covered(data: Any, index: Any) -> Any:
    """The address of every element at an index: slices, or arrays that broadcast."""
    if _is_box(index):
        index = _opened(index, data.shape)
    start = data.__array_interface__["data"][0]
    addresses: Any = np.int64(start)
    for i, stride in zip(index, data.strides, strict=True):
        addresses = addresses + np.asarray(i, np.int64) * stride
    return np.asarray(addresses).reshape(-1)


def _problem(part: PendingWrite, name: str, shared: int, writes: bool) -> RuntimeFault:
    verb = "write to" if writes else "read of"
    if part.writes:
        message = f"{verb} {name} while an asynchronous operation still writes it"
    else:
        message = f"{verb} {name} while an asynchronous operation still reads it"
    notes = [
        Note(f"{part.what} was issued here and may still be in flight", part.site),
        f"{count_text(shared, 'element')} of the access {'are' if shared > 1 else 'is'} affected",
        part.fix(),
    ]
    return RuntimeFault("not arrived", message, notes)
