"""Accesses to shared memory since the last barrier, as `insert-thread-syncs` tracks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import IntEnum

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.lifetimes.buffer_slots import Slot
from tilewright.analysis.threads.thread_footprints import EarlierAccess, Footprint
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import AsyncMoveOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile import AllocOp, Space, space_of
from tilewright.passes.gpu.shared_sizes import bytes_of


class Order(IntEnum):
    """Which threads have to wait for each other between two accesses."""

    NONE = 0
    WARP = 1
    """The lanes of each warp."""
    ALL = 2
    """All threads."""


@dataclass(frozen=True)
class Location:
    """A shared buffer, one version of it, or the elements that each thread accesses."""

    buffer: SSAValue
    slot: Slot | None = None
    elements: EarlierAccess | None = None
    is_in_order: bool = False
    """Whether the lanes of each warp have waited for each other since."""

    def may_share_bytes(self, other: Location) -> bool:
        if self.buffer is other.buffer and self.slot is not None and other.slot is not None:
            return not self.slot.differs_from(other.slot)
        return share_bytes(self.buffer, other.buffer)

    def needed_after(self, earlier: Location) -> Order:
        """What has to be between this access and an earlier one, for different threads may access
        the same bytes in both."""
        if not self.may_share_bytes(earlier):
            return Order.NONE
        here, there = self.elements, earlier.elements
        if here is None or there is None or self.buffer is not earlier.buffer:
            return Order.ALL
        if not there.conflicts(here.footprint):
            return Order.NONE
        if there.conflicts(here.footprint, NVIDIA_WARP):
            return Order.ALL
        return Order.NONE if earlier.is_in_order else Order.WARP


@dataclass(frozen=True)
class SharedAccess:
    """One access to a shared buffer."""

    buffer: SSAValue
    is_write: bool
    by_engine: bool = False
    is_started: bool = False
    """Whether the write goes on after the op."""
    is_signalled: bool = False
    """Whether an engine reads later, until a phase of an mbarrier completes."""
    is_update: bool = False
    """Whether the write is an atomic update of a tensor: in any order with others of its kind."""
    slot: Slot | None = None
    """The version of the buffer, if it is known."""
    footprint: Footprint | None = None
    """The elements that each thread accesses, if they are known."""

    @property
    def location(self) -> Location:
        elements = None if self.footprint is None else EarlierAccess(self.footprint)
        return Location(self.buffer, self.slot, elements)


def share_bytes(one: SSAValue, other: SSAValue) -> bool:
    """Whether two shared buffers overlap."""
    if one is other:
        return True
    if Space.GLOBAL in (space_of(one.type), space_of(other.type)):
        return False  # tensors do not overlap
    first, second = _span(one), _span(other)
    return first is None or second is None or (first[0] < second[1] and second[0] < first[1])


def _span(buffer: SSAValue) -> tuple[int, int] | None:
    owner = buffer.owner
    if not isinstance(owner, AllocOp) or owner.offset_bytes is None:
        return None
    return owner.offset_bytes, owner.offset_bytes + bytes_of(owner)


def elements_of(op: Operation, access: SharedAccess) -> tuple[SSAValue, SSAValue, int] | None:
    """The buffer, the index and the number of elements that a thread accesses by itself."""
    if isinstance(op, LoadOp | StoreOp) and len(op.indices) == 1:
        return op.memref, op.indices[0], 1
    if isinstance(op, AsyncMoveOp) and access.is_write and len(op.dst_indices) == 1:
        return op.dst, op.dst_indices[0], op.lanes.value.data
    if isinstance(op, MoveOp):
        sides = {False: (op.src, op.src_indices), True: (op.dst, op.dst_indices)}
        buffer, indices = sides[access.is_write]
        if len(indices) == 1:
            return buffer, indices[0], op.lanes.value.data
    return None


@dataclass
class Pending:
    """Accesses since the last barrier."""

    reads: set[Location] = field(default_factory=set[Location])
    writes: set[Location] = field(default_factory=set[Location])
    updates: set[Location] = field(default_factory=set[Location])
    """Tensors with atomic updates."""
    unfenced: set[Location] = field(default_factory=set[Location])
    """Written by threads, and not yet visible to the async proxy."""
    by_others: set[Location] = field(default_factory=set[Location])
    """Those of them that only roles wrote: a fence of other threads does not order these."""
    unfenced_reads: set[Location] = field(default_factory=set[Location])
    """Read by threads since the last async proxy fence."""
    started: set[Location] = field(default_factory=set[Location])
    """Written by asynchronous moves of threads that have not been waited for."""
    in_flight: dict[Location, int] = field(default_factory=dict[Location, int])
    """Read by MMAs that have not been waited for, and how many groups have been committed since the
    MMA was issued, its own included. A barrier does not end these reads, one after the wait does;
    what is written meanwhile is in other bytes, and needs none."""

    def needed(self, accesses: Iterable[SharedAccess]) -> Order:
        """What has to be between these accesses and the next ones."""
        found = Order.NONE
        for each in accesses:
            for other in self._against(each):
                found = max(found, self._between(other, each))
                if found is Order.ALL:
                    return found
        return found

    def conflicts(self, accesses: Iterable[SharedAccess]) -> bool:
        return self.needed(accesses) is not Order.NONE

    def _between(self, earlier: Location, access: SharedAccess) -> Order:
        """Copies in flight are in order only with other copies; elements prove nothing else."""
        was_started = replace(earlier, is_in_order=False) in self.started
        if was_started != access.is_started and access.location.may_share_bytes(earlier):
            return Order.ALL
        return access.location.needed_after(earlier)

    def _against(self, access: SharedAccess) -> set[Location]:
        if access.is_update:
            return self.writes | self.reads
        if access.is_write:
            return self.writes | self.updates | self.reads
        return self.writes | self.updates

    def needs_fence(self, accesses: Iterable[SharedAccess]) -> bool:
        return any(
            each.by_engine and any(each.location.may_share_bytes(other) for other in self.unfenced)
            for each in accesses
        )

    def add(self, accesses: Iterable[SharedAccess]) -> None:
        for each in accesses:
            if each.is_update:
                self.updates.add(each.location)
                self._written(each.location)
            elif each.is_write:
                self.writes.add(each.location)
                self._written(each.location)
                if each.is_started:
                    self.started.add(each.location)
            elif each.is_signalled or (
                each.by_engine and space_of(each.buffer.type) is Space.GLOBAL
            ):
                # It is done when its mbarrier phase completes; so is a TMA load with its tensor.
                continue
            else:
                self.reads.add(each.location)
                if not each.by_engine:
                    self.unfenced_reads.add(each.location)

    def _written(self, location: Location) -> None:
        self.unfenced.add(location)
        self.by_others.discard(location)

    def written_by_others(self, locations: set[Location]) -> None:
        """Roles wrote these, and did not fence them."""
        self.by_others |= locations - self.unfenced
        self.unfenced |= locations

    @property
    def own_unfenced(self) -> set[Location]:
        """Written by the threads themselves, and not yet visible to the async proxy."""
        return self.unfenced - self.by_others

    def fenced(self) -> None:
        self.unfenced.clear()
        self.by_others.clear()
        self.unfenced_reads.clear()

    def landed(self) -> None:
        """A wait orders a thread's own moves; for other threads a barrier has to follow."""
        self.writes |= self.started
        self.unfenced |= self.started
        self.by_others -= self.started

    def issued(self, accesses: Iterable[SharedAccess]) -> None:
        """An MMA reads its operands until a wait covers its group."""
        self.in_flight.update((each.location, 0) for each in accesses)

    def committed(self) -> None:
        """A group of MMAs ends here."""
        self.in_flight = {each: groups + 1 for each, groups in self.in_flight.items()}

    def waited(self, pending: int) -> None:
        """All but the last `pending` groups of MMAs are complete; other threads do not know it."""
        self.reads |= {each for each, groups in self.in_flight.items() if groups > pending}
        self.in_flight = {
            each: groups for each, groups in self.in_flight.items() if groups <= pending
        }

    def warps_synchronised(self) -> None:
        """The lanes of each warp have waited for each other."""
        for each in (self.reads, self.writes, self.updates):
            marked = {replace(location, is_in_order=True) for location in each}
            each.clear()
            each |= marked

    def synchronised(self) -> None:
        self.reads.clear()
        self.writes.clear()
        self.updates.clear()

    def copy(self) -> Pending:
        return Pending(
            set(self.reads),
            set(self.writes),
            set(self.updates),
            set(self.unfenced),
            set(self.by_others),
            set(self.unfenced_reads),
            set(self.started),
            dict(self.in_flight),
        )

    def join(self, other: Pending) -> None:
        self.reads |= other.reads
        self.writes |= other.writes
        self.updates |= other.updates
        own = self.own_unfenced | other.own_unfenced
        self.unfenced |= other.unfenced
        self.by_others = self.unfenced - own
        self.unfenced_reads |= other.unfenced_reads
        self.started |= other.started
        for each, groups in other.in_flight.items():
            self.in_flight[each] = min(groups, self.in_flight.get(each, groups))

    def changed(self, change: Callable[[Location], Location]) -> Pending:
        """The same accesses to other locations."""
        changed = Pending(
            reads={change(location) for location in self.reads},
            writes={change(location) for location in self.writes},
            updates={change(location) for location in self.updates},
            unfenced={change(location) for location in self.unfenced},
            by_others={change(location) for location in self.by_others}
            - {change(location) for location in self.own_unfenced},
            unfenced_reads={change(location) for location in self.unfenced_reads},
            started={change(location) for location in self.started},
        )
        for location, groups in self.in_flight.items():
            found = change(location)
            changed.in_flight[found] = min(groups, changed.in_flight.get(found, groups))
        return changed

    def become(self, other: Pending) -> None:
        """Take the accesses of another."""
        self.reads, self.writes, self.updates = other.reads, other.writes, other.updates
        self.unfenced, self.unfenced_reads = other.unfenced, other.unfenced_reads
        self.by_others = other.by_others
        self.started, self.in_flight = other.started, other.in_flight
