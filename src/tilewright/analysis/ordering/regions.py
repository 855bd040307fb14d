"""Bytes and who touched them last.

A region is some bytes of one memory. How it finds its bytes is its own affair: `cells` takes a
table with one entry per byte of the memory and returns those of the region, to read or write in
place. So strided tiles and rows of tensor memory need no arithmetic here.

For every byte the tables keep the last write, and the last read of each component of the clocks.
That is enough: what was before them is ordered before them, or was reported.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from tilewright.analysis.ordering.clocks import covers

Deed: TypeAlias = Literal["read", "write"]
Proxy: TypeAlias = Literal["generic", "async", "tensor"]
Table: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"


@dataclass(frozen=True)
class ByteRegion:
    """Some bytes."""

    memory: Hashable
    name: str
    """As the author writes it: `a[1]`."""
    owner: str
    """The buffer they are taken for; buffers of different names may share bytes."""
    cells: Callable[[Any], Any]
    place: int | None = None
    """Where the buffer is made."""


def byte_range(memory: Hashable, name: str, start: int, end: int, owner: str = "") -> ByteRegion:
    """Consecutive bytes."""

    def cells(table: Any) -> Any:
        return table[start:end]

    return ByteRegion(memory, name, owner or name.partition("[")[0], cells)


@dataclass(frozen=True)
class Access:
    """Something that was done to bytes."""

    number: int
    deed: Deed
    region: ByteRegion
    proxy: Proxy
    task: str
    place: int
    iteration: int
    """How often the task had come to this line before."""
    component: int
    time: int
    event: int
    operation: str = ""
    engine: str = ""
    previous: int = 0
    """Number of the write before it to its first byte; 0 if there is none."""
    gates: tuple[Hashable, ...] = ()
    """The keys of the barriers that the operation reports to."""

    def __str__(self) -> str:
        if self.operation:
            return f"{self.operation}, issued by {self.task}"
        return f"{self.deed} of {self.region.name} by {self.task}"


@dataclass(frozen=True)
class OrderingConflict:
    """Two accesses that nothing orders, or that need a fence between them."""

    first: Access
    second: Access
    size_bytes: int
    needs_fence: bool = False


class ByteTables:
    """What is known of one memory."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self._writes = np.zeros(size, np.int32)
        self._reads: dict[int, Table] = {}
        self._latest: dict[int, int] = {}
        """By component, the time of its last read: who knows of it has nothing to look up."""
        self.accesses: dict[int, Access] = {}
        self._brought: dict[int, Access] = {}
        """What copies brought and nobody has read yet."""

    def unread_copies(self) -> list[Access]:
        """Copies into the memory of which nobody has read a byte."""
        return list(self._brought.values())

    def last_write(self, region: ByteRegion) -> int:
        """Number of the write of the region's first byte."""
        cells = region.cells(self._writes)
        return int(cells.flat[0]) if cells.size else 0

    def copies(self, region: ByteRegion) -> list[Access]:
        """Copies that report to a barrier and whose bytes a region holds."""
        return [each for each, _ in self._distinct(region.cells(self._writes)) if each.gates]

    def clashes(
        self, access: Access, seen: Sequence[int], fenced: Sequence[int]
    ) -> list[OrderingConflict]:
        """Earlier accesses that are in conflict with this one."""
        found: list[OrderingConflict] = []
        for prior, size in self._distinct(access.region.cells(self._writes)):
            if access.deed == "read":
                self._brought.pop(prior.number, None)
            if not covers(seen, prior.component, prior.time):
                found.append(OrderingConflict(prior, access, size))
            elif _needs_fence(prior, access) and not covers(fenced, prior.component, prior.time):
                found.append(OrderingConflict(prior, access, size, needs_fence=True))
        if access.deed == "read":
            return found
        for component, table in self._reads.items():
            if covers(seen, component, self._latest[component]):
                continue
            for prior, size in self._distinct(access.region.cells(table)):
                if not covers(seen, prior.component, prior.time):
                    found.append(OrderingConflict(prior, access, size))
        return found

    def add(self, access: Access) -> None:
        """Remember an access."""
        self.accesses[access.number] = access
        if access.deed == "write":
            access.region.cells(self._writes)[...] = access.number
            if access.gates and access.proxy == "async":
                self._brought[access.number] = access
            return
        table = self._reads.get(access.component)
        if table is None:
            table = self._reads[access.component] = np.zeros_like(self._writes)
        access.region.cells(table)[...] = access.number
        self._latest[access.component] = access.time

    def _distinct(self, cells: Any) -> list[tuple[Access, int]]:
        if not cells.size:
            return []
        low, high = int(cells.min()), int(cells.max())
        if low == high:
            return [(self.accesses[low], int(cells.size))] if low else []
        numbers, counts = np.unique(cells, return_counts=True)
        pairs = zip(numbers.tolist(), counts.tolist(), strict=True)
        return [(self.accesses[number], count) for number, count in pairs if number]


def _needs_fence(prior: Access, access: Access) -> bool:
    """What threads store is for copy engines and matrix units to read only after a fence.

    Copies that threads issue (cp.async) are not asked for one: kernels in use do without.
    """
    is_store = prior.proxy == "generic" and not prior.operation
    return is_store and access.proxy == "async" and access.deed == "read"


class Owners:
    """Whose value each byte of one memory holds, where buffers share bytes."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._last = np.zeros(size, np.int32)
        """Number of the last write, in the order in which writes took effect."""
        self._written: dict[str, Any] = {}
        self._writers: dict[int, Access] = {}

    def wrote(self, access: Access) -> None:
        region = access.region
        region.cells(self._last)[...] = access.number
        self._writers[access.number] = access
        mine = self._written.get(region.owner)
        if mine is None:
            mine = self._written[region.owner] = np.zeros(self._size, np.bool_)
        region.cells(mine)[...] = True

    def lost(self, region: ByteRegion) -> tuple[Access, int] | None:
        """A write of another buffer over bytes that hold a value of this one, and how many."""
        mine = self._written.get(region.owner)
        if mine is None or len(self._written) < 2:
            return None
        numbers = region.cells(self._last)[region.cells(mine)]
        for number in np.unique(numbers).tolist():
            writer = self._writers.get(number)
            if writer is not None and writer.region.owner != region.owner:
                return writer, int((numbers == number).sum())
        return None
