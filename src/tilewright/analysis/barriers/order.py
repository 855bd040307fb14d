"""Happens-before, as far as barriers guarantee it.

Every member has a clock: the progress it has observed of each other member, and how many phases of
each barrier and groups of asynchronous accesses it has observed to be complete. A completed phase
has the joined clocks of all arrivals; a wait joins those that the parity rule guarantees
(`concurrency.parity`) into its own. An asynchronous access is complete for a member that has
observed its phase, or its group: it needs no entry of its own in any clock.

A wait never lasts until the phase after the guaranteed one completes, or the parity repeats and the
wait hangs. So a wait means one phase, whatever the schedule, and what does not follow from the
clocks is not guaranteed: two accesses of one element, one of them a write, that no clock orders are
a data race.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from typing_extensions import override
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.barriers.events import (
    TENSOR_CORE,
    AccessEvent,
    Arrive,
    BarrierId,
    BoxAccess,
    Commit,
    FaultKind,
    NamedBarrierEvent,
    SyncFinding,
    TensorCommit,
    WaitEvent,
    WaitGroup,
)
from tilewright.analysis.barriers.trace import Trace
from tilewright.analysis.concurrency import (
    BarrierMisuse,
    Deadlock,
    Machine,
    MBarrier,
    NamedBarrier,
    RunToBlock,
    Steps,
    Wait,
    guaranteed_phases,
)
from tilewright.dialects.tile import AllocOp

Clock = dict[object, int]
"""Members by index, barriers by id, groups by member and kind: the progress observed of each."""


def _join(clock: Clock, other: Clock) -> None:
    for key, value in other.items():
        if value > clock.get(key, 0):
            clock[key] = value


@dataclass(eq=False)
class _Barrier(MBarrier):
    """A barrier, with the clocks that it releases."""

    op: Operation = field(kw_only=True)
    gathered: Clock = field(default_factory=dict[object, int])
    ended: list[Clock] = field(default_factory=list[Clock])
    """The clock of each completed phase."""
    waited: list[tuple[int, int, Operation]] = field(
        default_factory=list[tuple[int, int, Operation]]
    )
    """Waits that passed in this phase: the member, its time, and the wait."""

    @override
    def missing(self) -> str:
        lacks: list[str] = []
        if self.arrived < self.count:
            lacks.append(f"{self.arrived} of {self.count} arrivals occurred")
        if self.tx_count:
            lacks.append(f"{self.expected} B are expected, {self.completed} B completed")
        return " and ".join(lacks)


@dataclass(eq=False)
class _NamedBarrier(NamedBarrier):
    """A named barrier, with the clocks that it releases."""

    gathered: Clock = field(default_factory=dict[object, int])
    ended: list[Clock] = field(default_factory=list[Clock])

    @override
    def arrive(self, count: int, threads: int) -> int:
        """The last arrival decides on the thread count: `check-thread-sync` compares them."""
        self.threads = threads
        return super().arrive(min(count, threads - self.arrived), threads)


@dataclass
class _Member:
    index: int
    trace: Trace
    clock: Clock = field(default_factory=dict[object, int])
    at: int = 0
    committed: dict[str, int] = field(default_factory=dict[str, int])
    """Groups of asynchronous accesses so far, by kind."""
    target: int = 0
    """Of its last wait: how many phases must be complete."""

    def tick(self) -> int:
        time = self.clock.get(self.index, 0) + 1
        self.clock[self.index] = time
        return time


@dataclass(frozen=True)
class _Done:
    """A completed access: ordered before everything whose clock has `time` or more at `key`."""

    index: int
    key: object
    time: int
    access: BoxAccess
    op: Operation
    name: str
    is_async: bool
    member: int
    at: int
    """Its position in the events of the member."""
    also: dict[object, int] = field(default_factory=dict[object, int], compare=False)
    """Other keys and times after which it is complete: barriers of commits that follow."""

    def is_before(self, clock: Clock) -> bool:
        """Whether what has observed this much is ordered after it."""
        if clock.get(self.key, 0) >= self.time:
            return True
        return any(clock.get(key, 0) >= time for key, time in self.also.items())

    @property
    def what(self) -> str:
        return "write" if self.access.is_write else "read"

    def __str__(self) -> str:
        owner = self.access.base.owner
        name = owner.buffer_name if isinstance(owner, AllocOp) else self.access.base.name_hint
        box = ", ".join(f"{a}:{b}" for a, b in self.access.box or ())
        if self.is_async:
            return f"the asynchronous {self.what} of {name}[{box}] issued by {self.name}"
        return f"the {self.what} of {name}[{box}] by {self.name}"


class _Wrong(Exception):
    def __init__(self, fault: SyncFinding) -> None:
        self.fault = fault


def check(traces: Sequence[Trace]) -> SyncFinding | None:
    """The first finding about the order of events."""
    try:
        _Run(traces).run()
    except _Wrong as wrong:
        if wrong.fault.kind is FaultKind.OVERRUN:
            return _with_parity(wrong.fault, traces)
        return wrong.fault
    return None


def _with_parity(fault: SyncFinding, traces: Sequence[Trace]) -> SyncFinding:
    """The finding about a wait, with the other parity as its help if that is what repairs it."""
    parities = {
        event.parity
        for trace in traces
        for event in trace.events
        if isinstance(event, WaitEvent) and event.op is fault.op
    }
    if not _finds_nothing([_inverted(trace, fault.op) for trace in traces]):
        return fault
    if parities == {1}:
        text = (
            "use parity 0 here: a wait with parity 1 returns at once on a newly initialised barrier"
        )
    elif parities == {0}:
        text = "use parity 1 here: a wait with parity 0 waits for the first phase of the barrier"
    else:
        text = "invert the parity of this wait"
    return replace(fault, help=text)


def _finds_nothing(traces: Sequence[Trace]) -> bool:
    try:
        _Run(traces).run()
    except _Wrong:
        return False
    return True


def _inverted(trace: Trace, wait: Operation) -> Trace:
    events = tuple(
        replace(event, parity=1 - event.parity)
        if isinstance(event, WaitEvent) and event.op is wait
        else event
        for event in trace.events
    )
    return replace(trace, events=events)


def _for_arrivals(name: str, barrier: _Barrier, threads: int) -> str:
    """What to do about more arrivals than the arrive count."""
    if not barrier.arrived:
        return (
            f"set the arrive count of {barrier.name} to {threads}, the threads of {name} that "
            f"arrive here, or let only {barrier.count} of them arrive"
        )
    return (
        f"set the arrive count of {barrier.name} to {barrier.arrived + threads} if these arrivals "
        f"belong to one phase; otherwise let {name} wait for the phase before it arrives again"
    )


class _Run:
    def __init__(self, traces: Sequence[Trace]) -> None:
        self.members = [_Member(index, trace) for index, trace in enumerate(traces)]
        self.barriers: dict[BarrierId, _Barrier] = {}
        self.named_barriers: dict[int, _NamedBarrier] = {}
        self.done: dict[SSAValue, list[_Done]] = {}
        self.accesses = 0
        self.written = {
            access.base
            for trace in traces
            for event in trace.events
            if isinstance(event, AccessEvent)
            for access in event.accesses
            if access.is_write
        }

    def run(self) -> None:
        machine = Machine(schedule=RunToBlock())
        for member in self.members:
            machine.spawn(member.trace.name, self._steps(member))
        try:
            machine.run()
        except Deadlock:
            blocked = [each for each in self.members if each.at < len(each.trace.events)]
            raise _Wrong(self._deadlock(blocked)) from None
        self._unbalanced()

    def _steps(self, member: _Member) -> Steps:
        for event in member.trace.events:
            if isinstance(event, WaitEvent):
                yield from self._wait(member, event)
            elif isinstance(event, NamedBarrierEvent):
                yield from self._named_barrier(member, event)
            elif isinstance(event, Arrive):
                self._arrive(member, event)
            elif isinstance(event, AccessEvent):
                self._access(member, event)
            elif isinstance(event, TensorCommit):
                self._tensor_commit(member, event)
            elif isinstance(event, Commit):
                member.committed[event.group] = member.committed.get(event.group, 0) + 1
            else:
                self._wait_group(member, event)
            member.at += 1

    # -- barriers ----------------------------------------------------------------------------

    def _barrier(self, barrier_id: BarrierId, op: Operation) -> _Barrier:
        found = self.barriers.get(barrier_id)
        if found is None:
            row, index = barrier_id
            alloc = row.owner
            counts = alloc.arrive_counts if isinstance(alloc, AllocOp) else None
            if not isinstance(alloc, AllocOp) or counts is None or not 0 <= index < len(counts):
                text = f"barrier index {index} is out of bounds of this array"
                raise _Wrong(SyncFinding(FaultKind.OUTSIDE, op, text))
            name = f"{alloc.buffer_name}[{index}]"
            found = self.barriers[barrier_id] = _Barrier(name, counts[index], op=alloc)
        return found

    def _wait(self, member: _Member, event: WaitEvent) -> Steps:
        barrier = self._barrier(event.barrier_id, event.op)
        observed = member.clock.get(event.barrier_id, 0)
        target = member.target = guaranteed_phases(observed, event.parity)
        if barrier.phase < target:
            yield Wait(barrier.name, lambda: barrier.phase >= target)
        if barrier.phase > target:
            raise _Wrong(self._overrun(barrier, member.trace.name, event.op))
        if target:
            _join(member.clock, barrier.ended[target - 1])
        barrier.waited.append((member.index, member.tick(), event.op))

    def _overrun(self, barrier: _Barrier, name: str, op: Operation) -> SyncFinding:
        text = (
            f"{name} may miss a phase at this wait: the next phase of {barrier.name} may complete "
            "before the wait, and then the parity is wrong again"
        )
        suggestion = (
            f"let the roles that arrive on {barrier.name} wait, before the next phase, on another "
            f"barrier that {name} arrives on after this wait; where they do, the parity of that "
            "wait has to alternate: with the parity of a completed phase it passes at once"
        )
        return SyncFinding(
            FaultKind.OVERRUN,
            op,
            text,
            ((barrier.op, "the barrier is initialised here"),),
            suggestion,
        )

    def _arrive(self, member: _Member, event: Arrive) -> None:
        barrier = self._barrier(event.barrier_id, event.op)
        member.tick()
        _join(barrier.gathered, member.clock)
        try:
            completes = barrier.arrive_expect_tx(event.bytes, event.threads)
        except BarrierMisuse:
            text = (
                f"{barrier.arrived + event.threads} arrivals on {barrier.name} in one phase, "
                f"but its arrive count is {barrier.count}"
            )
            note = ((barrier.op, "the barrier is initialised here"),)
            suggestion = _for_arrivals(member.trace.name, barrier, event.threads)
            finding = SyncFinding(FaultKind.COUNT, event.op, text, note, suggestion)
            raise _Wrong(finding) from None
        if completes:
            self._release(event.barrier_id, barrier)

    def _release(self, barrier_id: BarrierId, barrier: _Barrier) -> None:
        """A phase has completed: the clock that its waiters join."""
        clock = dict(barrier.ended[-1]) if barrier.ended else {}
        _join(clock, barrier.gathered)
        clock[barrier_id] = barrier.phase
        for waiter, time, op in barrier.waited:
            if clock.get(waiter, 0) < time:
                raise _Wrong(self._overrun(barrier, self.members[waiter].trace.name, op))
        barrier.ended.append(clock)
        barrier.gathered, barrier.waited = {}, []

    def _named_barrier(self, member: _Member, event: NamedBarrierEvent) -> Steps:
        barrier = self.named_barriers.setdefault(event.id, _NamedBarrier(f"barrier {event.id}"))
        member.tick()
        _join(barrier.gathered, member.clock)
        target = barrier.arrive(event.threads, event.count)
        if barrier.has_opened(target):
            barrier.ended.append(barrier.gathered)
            barrier.gathered = {}
        if event.waits:
            if not barrier.has_opened(target):
                yield Wait(barrier.name, lambda: barrier.has_opened(target))
            _join(member.clock, barrier.ended[target - 1])

    # -- memory ------------------------------------------------------------------------------

    def _access(self, member: _Member, event: AccessEvent) -> None:
        time = member.tick()
        if event.barrier_id is not None:
            known = self.barriers.get(event.barrier_id)
            phase = 0 if known is None else known.phase
            self._record(event.barrier_id, phase + 1, member, event)
            self._deliver(member, event, event.barrier_id)
        elif event.group:
            committed = member.committed.get(event.group, 0)
            self._record((member.index, event.group), committed + 1, member, event)
        else:
            self._record(member.index, time, member, event)

    def _deliver(self, member: _Member, event: AccessEvent, barrier_id: BarrierId) -> None:
        """The complete-tx of a copy on its barrier."""
        barrier = self._barrier(barrier_id, event.op)
        _join(barrier.gathered, member.clock)
        if event.expects:
            barrier.expected += event.bytes
        if barrier.complete_tx(event.bytes):
            self._release(barrier_id, barrier)

    def _record(self, key: object, time: int, member: _Member, event: AccessEvent) -> None:
        self.accesses += 1
        clock = member.clock
        is_async = key != member.index
        for access in event.accesses:
            if access.base not in self.written:
                continue
            own = _Done(
                self.accesses,
                key,
                time,
                access,
                event.op,
                member.trace.name,
                is_async,
                member.index,
                member.at,
            )
            earlier = self.done.get(access.base, [])
            for other in earlier:
                if other.index == self.accesses or other.is_before(clock):
                    continue
                if key == other.key == (member.index, TENSOR_CORE):
                    continue  # in the order of issue
                if access.conflicts_with(other.access):
                    raise _Wrong(self._unordered(other, own))
            # An access after a write is ordered after all that it overwrites, or conflicts with the
            # write itself.
            retained = [other for other in earlier if not access.hides(other.access)]
            self.done[access.base] = [*retained, own]

    def _tensor_commit(self, member: _Member, event: TensorCommit) -> None:
        """The arrival of a commit; with its phase all that was issued before is complete."""
        phase = self._barrier(event.barrier_id, event.op).phase
        for accesses in self.done.values():
            for each in accesses:
                if each.key == (member.index, TENSOR_CORE):
                    each.also.setdefault(event.barrier_id, phase + 1)
        self._arrive(member, Arrive(event.op, event.barrier_id, 1))

    def _wait_group(self, member: _Member, event: WaitGroup) -> None:
        over = member.committed.get(event.group, 0) - event.left
        _join(member.clock, {(member.index, event.group): over})

    # -- reports -----------------------------------------------------------------------------

    def _deadlock(self, blocked: list[_Member]) -> SyncFinding:
        notes: list[tuple[Operation, str]] = []
        first, kind = "", FaultKind.DEADLOCK
        for member in blocked:
            event = member.trace.events[member.at]
            if isinstance(event, WaitEvent):
                barrier = self._barrier(event.barrier_id, event.op)
                if barrier.tx_count and barrier.arrived == barrier.count:
                    kind = FaultKind.BYTES
                text = (
                    f"{member.trace.name} waits for phase {member.target - 1} of "
                    f"{barrier.name}, where {barrier.missing()}"
                )
            else:
                text = f"{member.trace.name} waits on a named barrier"
            first = first or text
            notes.append((event.op, text))
        where = blocked[0].trace.events[blocked[0].at].op
        title = "transaction count mismatch" if kind is FaultKind.BYTES else "deadlock"
        return SyncFinding(kind, where, f"{title}: {first}", tuple(notes[1:]))

    def _unordered(self, one: _Done, other: _Done) -> SyncFinding:
        is_same = one.op is other.op and one.member == other.member and one.what == other.what
        earlier = f"the same {one.what} in an earlier iteration" if is_same else str(one)
        text = f"data race: nothing orders {other} after {earlier}"
        notes = () if is_same else ((one.op, f"the {one.what} is here"),)
        return SyncFinding(FaultKind.UNORDERED, other.op, text, notes, self._suggest(one, other))

    def _suggest(self, one: _Done, other: _Done) -> str:
        """What orders `other` after `one`, by the barriers that the kernel has."""
        times = {one.key: one.time, **one.also}
        found = next(((key, each) for key, each in self.barriers.items() if key in times), None)
        if found is not None:
            key, signalled = found
            return (
                f"call T.mbarrier_wait_parity({signalled.name}, {(times[key] - 1) & 1}) before "
                "this: "
                f"the asynchronous {one.what} signals {signalled.name} when it completes"
            )
        if one.member == other.member:
            return f"wait for the asynchronous {one.what} to complete before this"
        waited = {
            each.barrier_id
            for each in self.members[other.member].trace.events
            if isinstance(each, WaitEvent)
        }
        arrivals = [
            (at, each)
            for at, each in enumerate(self.members[one.member].trace.events)
            if isinstance(each, Arrive) and each.barrier_id not in waited
        ]
        for at, each in arrivals:
            if at > one.at and not one.is_async:
                own = [
                    position
                    for position, arrive in arrivals
                    if arrive.barrier_id == each.barrier_id
                ]
                barrier = self._barrier(each.barrier_id, each.op)
                parity = str(own.index(at) & 1)
                if len(own) > 1:
                    parity = "parity"
                return (
                    f"call T.mbarrier_wait_parity({barrier.name}, {parity}) in {other.name} before "
                    f"this: {one.name} arrives on {barrier.name} after its {one.what}"
                )
        return (
            f"make {one.name} arrive on a barrier after its {one.what} (T.mbarrier_arrive), and "
            f"make {other.name} wait for it before this (T.mbarrier_wait_parity)"
        )

    def _unbalanced(self) -> None:
        for barrier in self.barriers.values():
            if barrier.tx_count:
                text = (
                    f"transaction count mismatch on {barrier.name}: {barrier.expected} B expected "
                    f"in its last phase, {barrier.completed} B completed by copies"
                )
                raise _Wrong(SyncFinding(FaultKind.BYTES, barrier.op, text))
