"""Bytes and their last accesses.

A region is a set of bytes of one memory. It selects its bytes itself: `cells` takes a table with
one entry per byte of the memory and returns those of the region, to read or write in place. So
strided tiles and rows of tensor memory need no arithmetic here.

For every byte the tables keep the last write, and the last read of each component of the clocks.
That is enough: what was before them is ordered before them, or was reported.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from tilewright.analysis.concurrency import AccessKind, Proxy
from tilewright.analysis.ordering.clocks import covers

Table: TypeAlias = "np.ndarray[Any, np.dtype[np.int32]]"


@dataclass(frozen=True)
class ByteRegion:
    """Some bytes."""

    memory: Hashable
    name: str
    """As the kernel writes it: `a[1]`."""
    owner: str
    """The buffer they belong to; buffers of different names may overlap."""
    cells: Callable[[Any], Any]
    site: int | None = None
    """The site of the allocation."""


@dataclass(frozen=True)
class StridedBytes:
    """The bytes of a tensor in memory."""

    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of_tile(
        cls, start: int, shape: tuple[int, ...], strides: tuple[int, ...], item: int
    ) -> StridedBytes:
        """Of elements of `item` bytes: trailing dimensions without a gap between them are one."""
        shape, strides = (*shape, item), (*strides, 1)
        while len(shape) > 1 and strides[-2] == shape[-1]:
            shape, strides = (*shape[:-2], shape[-2] * shape[-1]), (*strides[:-2], 1)
        return cls(start, shape, strides)

    @property
    def last(self) -> int:
        extents = zip(self.shape, self.strides, strict=True)
        return self.start + sum((count - 1) * stride for count, stride in extents)

    def cells(self, table: Any) -> Any:
        """Their entries of a table with one entry per byte of the memory, to use in place."""
        unit = table.dtype.itemsize
        steps = tuple(stride * unit for stride in self.strides)
        return np.ndarray(self.shape, table.dtype, table.data, self.start * unit, steps)


def byte_range(memory: Hashable, name: str, start: int, end: int, owner: str = "") -> ByteRegion:
    """Consecutive bytes."""
    cells = StridedBytes(start, (end - start,), (1,)).cells
    return ByteRegion(memory, name, owner or name.partition("[")[0], cells)


@dataclass(frozen=True)
class Access:
    """A read or write of bytes."""

    index: int
    kind: AccessKind
    region: ByteRegion
    proxy: Proxy
    task: str
    site: int
    iteration: int
    """How many times the task had reached this line before."""
    component: int
    time: int
    event: int
    operation: str = ""
    engine: str = ""
    previous: int = 0
    """Index of the write before it to its first byte; 0 if there is none."""
    barriers: tuple[Hashable, ...] = ()
    """The keys of the barriers that the operation signals."""

    def __str__(self) -> str:
        if self.operation:
            return f"{self.operation}, issued by {self.task}"
        return f"{self.kind} of {self.region.name} by {self.task}"


@dataclass(frozen=True)
class OrderingConflict:
    """Two accesses that nothing orders, or that need a fence between them."""

    first: Access
    second: Access
    size_bytes: int
    needs_fence: bool = False


class ByteTables:
    """The recorded accesses of one memory."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self._writes = np.zeros(size, np.int32)
        self._reads: dict[int, Table] = {}
        self._latest: dict[int, int] = {}
        """By component, the time of its last read: an agent that has observed it needs no
        lookup."""
        self.accesses: dict[int, Access] = {}
        self._delivered: dict[int, Access] = {}
        """Copies whose data no task has read yet."""

    def unread_copies(self) -> list[Access]:
        """Copies into the memory of which no task has read a byte."""
        return list(self._delivered.values())

    def last_write(self, region: ByteRegion) -> int:
        """Index of the write of the region's first byte."""
        cells = region.cells(self._writes)
        return int(cells.flat[0]) if cells.size else 0

    def copies(self, region: ByteRegion) -> list[Access]:
        """Copies that signal a barrier and whose bytes a region contains."""
        return [each for each, _ in self._distinct(region.cells(self._writes)) if each.barriers]

    def conflicts(
        self, access: Access, seen: Sequence[int], fenced: Sequence[int]
    ) -> list[OrderingConflict]:
        """Earlier accesses that are in conflict with this one."""
        found: list[OrderingConflict] = []
        for prior, size in self._distinct(access.region.cells(self._writes)):
            if access.kind == "read":
                self._delivered.pop(prior.index, None)
            if not covers(seen, prior.component, prior.time):
                found.append(OrderingConflict(prior, access, size))
            elif _needs_fence(prior, access) and not covers(fenced, prior.component, prior.time):
                found.append(OrderingConflict(prior, access, size, needs_fence=True))
        if access.kind == "read":
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
        self.accesses[access.index] = access
        if access.kind == "write":
            access.region.cells(self._writes)[...] = access.index
            if access.barriers and access.proxy == "async":
                self._delivered[access.index] = access
            return
        table = self._reads.get(access.component)
        if table is None:
            table = self._reads[access.component] = np.zeros_like(self._writes)
        access.region.cells(table)[...] = access.index
        self._latest[access.component] = access.time

    def _distinct(self, cells: Any) -> list[tuple[Access, int]]:
        if not cells.size:
            return []
        low, high = int(cells.min()), int(cells.max())
        if low == high:
            return [(self.accesses[low], int(cells.size))] if low else []
        indices, counts = np.unique(cells, return_counts=True)
        pairs = zip(indices.tolist(), counts.tolist(), strict=True)
        return [(self.accesses[index], count) for index, count in pairs if index]


def _needs_fence(prior: Access, access: Access) -> bool:
    """Whether TMA or a tensor core reads a thread's store: it needs an async proxy fence before.

    Copies that threads issue (cp.async) do not require one: production kernels do without.
    """
    is_store = prior.proxy == "generic" and not prior.operation
    return is_store and access.proxy == "async" and access.kind == "read"


class Owners:
    """The buffer whose value each byte of one memory holds, where buffers overlap."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._last = np.zeros(size, np.int32)
        """Index of the last write, in the order in which writes took effect."""
        self._written: dict[str, Any] = {}
        self._writers: dict[int, Access] = {}

    def wrote(self, access: Access) -> None:
        region = access.region
        region.cells(self._last)[...] = access.index
        self._writers[access.index] = access
        own = self._written.get(region.owner)
        if own is None:
            own = self._written[region.owner] = np.zeros(self._size, np.bool_)
        region.cells(own)[...] = True

    def lost(self, region: ByteRegion) -> tuple[Access, int] | None:
        """A write of another buffer over bytes that hold a value of this one, and the byte
        count."""
        own = self._written.get(region.owner)
        if own is None or len(self._written) < 2:
            return None
        indices = region.cells(self._last)[region.cells(own)]
        for index in np.unique(indices).tolist():
            writer = self._writers.get(index)
            if writer is not None and writer.region.owner != region.owner:
                return writer, int((indices == index).sum())
        return None
