"""The owner of every address while a trace runs: the checker of merged memory.

Every write marks its addresses with the buffer it belongs to, every read checks that the last mark
is its own; a read of uninitialised memory is not an error of merging. Work in flight in an
asynchronous unit reserves its addresses. A finding needs no plan and no liveness, only two buffers,
the addresses they share and the order in which they were accessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.ir import Operation, Region

from tilewright.analysis.buffer_liveness import Engine


@dataclass(frozen=True)
class AddressRange:
    """Addresses ``start .. end`` of one allocation as part of `buffer`; `exact` if all are meant.

    `buffer` is the op that defines the buffer: an allocation, or a view at an address in one.
    """

    root: Operation
    start: int
    end: int
    buffer: Operation
    exact: bool = True

    def overlaps(self, other: AddressRange) -> bool:
        return self.root is other.root and self.start < other.end and other.start < self.end

    def within(self, offset: int, size: int, *, exact: bool = True) -> AddressRange:
        """A part of it."""
        start = self.start + offset
        return AddressRange(self.root, start, min(self.end, start + size), self.buffer, exact)


@dataclass(frozen=True)
class MergeFinding:
    """A buffer that lost its contents, or would have."""

    op: Operation
    message: str
    other: Operation

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Work:
    """Work in flight in an asynchronous unit. `barriers` are those that report its completion.

    `partition` is the region whose threads have started it; None for those of the function.
    """

    where: AddressRange
    op: Operation
    engine: Engine
    serial: int
    barriers: tuple[tuple[Operation, int | None, int], ...] = ()
    partition: Region | None = None


@dataclass
class Shadow:
    """Owners by address, unfinished work, and what went wrong so far."""

    owners: dict[Operation, list[tuple[int, int, Operation, Operation]]] = field(
        default_factory=dict[Operation, list[tuple[int, int, Operation, Operation]]]
    )
    history: dict[Operation, set[tuple[int, int]]] = field(
        default_factory=dict[Operation, set[tuple[int, int]]]
    )
    work: list[Work] = field(default_factory=list[Work])
    faults: dict[tuple[Operation, Operation, Operation], MergeFinding] = field(
        default_factory=dict[tuple[Operation, Operation, Operation], MergeFinding]
    )

    def read(self, where: AddressRange, op: Operation) -> None:
        """`op` reads `where`: no other buffer may have written there since its own buffer did."""
        foreign = [*self._lost(where)]
        if not where.exact and sum(e - s for s, e, _, _ in foreign) < where.end - where.start:
            return  # the element that is meant may be one of the others
        for start, end, buffer, writer in foreign:
            key = (op, where.buffer, buffer)
            text = f"{op.name} reads addresses {start}..{end}, overwritten by {writer.name}"
            self.faults.setdefault(
                key, MergeFinding(op, f"{text} as part of another buffer", writer)
            )

    def write(self, where: AddressRange, op: Operation) -> None:
        """`op` writes `where`: no engine may be at work there for another buffer."""
        for work in self.work:
            if work.where.buffer is not where.buffer and work.where.overlaps(where):
                low, high = max(where.start, work.where.start), min(where.end, work.where.end)
                text = f"{op.name} writes addresses {low}..{high}, still in use by {work.op.name}"
                key = (op, where.buffer, work.where.buffer)
                fault = MergeFinding(op, f"{text} as part of another buffer", work.op)
                self.faults.setdefault(key, fault)
        self.history.setdefault(where.buffer, set()).add((where.start, where.end))
        others = [*self._outside(where)]
        self.owners[where.root] = [*others, (where.start, where.end, where.buffer, op)]

    def collide(
        self, one: tuple[AddressRange, Operation], two: tuple[AddressRange, Operation]
    ) -> None:
        """Two accesses that may happen in any order."""
        where, op = one
        other, other_op = two
        if where.buffer is other.buffer or not where.overlaps(other):
            return
        low, high = max(where.start, other.start), min(where.end, other.end)
        text = f"data race: {op.name} and {other_op.name} use addresses {low}..{high}"
        key = (op, where.buffer, other.buffer)
        self.faults.setdefault(key, MergeFinding(op, f"{text} for different buffers", other_op))

    def _lost(self, where: AddressRange) -> Iterator[tuple[int, int, Operation, Operation]]:
        """Values of this buffer that other buffers have overwritten; none if it never wrote."""
        own = self.history.get(where.buffer, ())
        for start, end, buffer, writer in self._at(where):
            if buffer is not where.buffer and any(s < end and start < e for s, e in own):
                yield start, end, buffer, writer

    def _at(self, where: AddressRange) -> Iterator[tuple[int, int, Operation, Operation]]:
        for start, end, buffer, writer in self.owners.get(where.root, ()):
            low, high = max(start, where.start), min(end, where.end)
            if low < high:
                yield low, high, buffer, writer

    def _outside(self, where: AddressRange) -> Iterator[tuple[int, int, Operation, Operation]]:
        for start, end, buffer, writer in self.owners.get(where.root, ()):
            if start < min(end, where.start):
                yield start, min(end, where.start), buffer, writer
            if max(start, where.end) < end:
                yield max(start, where.end), end, buffer, writer
