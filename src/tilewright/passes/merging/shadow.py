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

    def meets(self, other: AddressRange) -> bool:
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

    place: AddressRange
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

    def read(self, place: AddressRange, op: Operation) -> None:
        """`op` reads `where`: no other buffer may have written there since its own buffer did."""
        foreign = [*self._lost(place)]
        if not place.exact and sum(e - s for s, e, _, _ in foreign) < place.end - place.start:
            return  # the element that is meant may be one of the others
        for start, end, buffer, writer in foreign:
            key = (op, place.buffer, buffer)
            text = f"{op.name} reads addresses {start}..{end}, overwritten by {writer.name}"
            self.faults.setdefault(
                key, MergeFinding(op, f"{text} as part of another buffer", writer)
            )

    def write(self, place: AddressRange, op: Operation) -> None:
        """`op` writes `place`: no engine may be at work there for another buffer."""
        for work in self.work:
            if work.place.buffer is not place.buffer and work.place.meets(place):
                low, high = max(place.start, work.place.start), min(place.end, work.place.end)
                text = f"{op.name} writes addresses {low}..{high}, still in use by {work.op.name}"
                key = (op, place.buffer, work.place.buffer)
                fault = MergeFinding(op, f"{text} as part of another buffer", work.op)
                self.faults.setdefault(key, fault)
        self.history.setdefault(place.buffer, set()).add((place.start, place.end))
        kept = [*self._outside(place)]
        self.owners[place.root] = [*kept, (place.start, place.end, place.buffer, op)]

    def collide(
        self, one: tuple[AddressRange, Operation], two: tuple[AddressRange, Operation]
    ) -> None:
        """Two accesses that may happen in any order."""
        place, op = one
        other, other_op = two
        if place.buffer is other.buffer or not place.meets(other):
            return
        low, high = max(place.start, other.start), min(place.end, other.end)
        text = f"data race: {op.name} and {other_op.name} use addresses {low}..{high}"
        key = (op, place.buffer, other.buffer)
        self.faults.setdefault(key, MergeFinding(op, f"{text} for different buffers", other_op))

    def _lost(self, place: AddressRange) -> Iterator[tuple[int, int, Operation, Operation]]:
        """Values of this buffer that other buffers have overwritten; none if it never wrote."""
        own = self.history.get(place.buffer, ())
        for start, end, buffer, writer in self._at(place):
            if buffer is not place.buffer and any(s < end and start < e for s, e in own):
                yield start, end, buffer, writer

    def _at(self, place: AddressRange) -> Iterator[tuple[int, int, Operation, Operation]]:
        for start, end, buffer, writer in self.owners.get(place.root, ()):
            low, high = max(start, place.start), min(end, place.end)
            if low < high:
                yield low, high, buffer, writer

    def _outside(self, place: AddressRange) -> Iterator[tuple[int, int, Operation, Operation]]:
        for start, end, buffer, writer in self.owners.get(place.root, ()):
            if start < min(end, place.start):
                yield start, min(end, place.start), buffer, writer
            if max(start, place.end) < end:
                yield max(start, place.end), end, buffer, writer
