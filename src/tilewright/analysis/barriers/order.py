"""What happens before what, as far as barriers guarantee it.

Every member has a clock: how far it knows each other one to be, how many phases of each barrier
and how many groups of asynchronous accesses it knows to be over. A phase ends with the clocks of
all who arrived; a wait takes them over. An access that goes on by itself is done for whoever knows
its phase, or its group, to be over: it needs no entry of its own in any clock.

A wait for a parity lets through whoever knows of `k` ended phases

    at once                    if phase k - 1 has that parity: nothing new is guaranteed
    once phase k is over       otherwise

and never later than phase k + 1 ends, or the parity has come round and the wait hangs. So a wait
stands for one phase, whatever the schedule, and what does not follow from the clocks is not
guaranteed: two accesses of one element, one of them a write, that no clock orders are a fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.barriers.events import (
    AccessEvent,
    Arrive,
    BoxAccess,
    Commit,
    Event,
    FaultKind,
    NamedBarrierEvent,
    Place,
    SyncFinding,
    WaitEvent,
    WaitGroup,
)
from tilewright.analysis.barriers.trace import Trace
from tilewright.dialects.tile import AllocOp

Clock = dict[object, int]
"""Members by number, barriers by place, groups by member and kind: how far they are known to be."""


def _join(clock: Clock, other: Clock) -> None:
    for key, value in other.items():
        if value > clock.get(key, 0):
            clock[key] = value


@dataclass
class _Barrier:
    """A barrier, with what it passes on."""

    name: str
    op: Operation
    count: int
    arrived: int = 0
    due: int = 0
    announced: int = 0
    delivered: int = 0
    gathered: Clock = field(default_factory=dict[object, int])
    ended: list[Clock] = field(default_factory=list[Clock])
    """The clock of each phase that is over."""
    waited: list[tuple[int, int, Operation]] = field(
        default_factory=list[tuple[int, int, Operation]]
    )
    """Waits that came through in this phase: the member, its time, and the wait."""

    @property
    def phase(self) -> int:
        return len(self.ended)

    def missing(self) -> str:
        lacks: list[str] = []
        if self.arrived < self.count:
            lacks.append(f"{self.arrived} of {self.count} arrivals came")
        if self.due:
            lacks.append(
                f"{self.announced} bytes were announced and {self.delivered} are delivered"
            )
        return " and ".join(lacks)


@dataclass
class _Member:
    number: int
    trace: Trace
    clock: Clock = field(default_factory=dict[object, int])
    at: int = 0
    committed: dict[str, int] = field(default_factory=dict[str, int])
    """Groups of asynchronous accesses so far, by kind."""
    target: int | None = None
    """Of the wait it is at: how many phases must be over."""
    met: int | None = None
    """Of the named barrier it is at: the round it arrived in."""

    def tick(self) -> int:
        time = self.clock.get(self.number, 0) + 1
        self.clock[self.number] = time
        return time


@dataclass(frozen=True)
class _Done:
    """An access that took place: before everything whose clock has `time` or more at `key`."""

    number: int
    key: object
    time: int
    touch: BoxAccess
    op: Operation
    name: str
    is_async: bool


@dataclass
class _Round:
    """A named barrier."""

    arrived: int = 0
    round: int = 0
    gathered: Clock = field(default_factory=dict[object, int])
    ended: list[Clock] = field(default_factory=list[Clock])


class _Wrong(Exception):
    def __init__(self, fault: SyncFinding) -> None:
        self.fault = fault


def check(traces: Sequence[Trace]) -> SyncFinding | None:
    """The first thing that is wrong with the order of events."""
    try:
        _Run(traces).run()
    except _Wrong as wrong:
        return wrong.fault
    return None


class _Run:
    def __init__(self, traces: Sequence[Trace]) -> None:
        self.members = [_Member(number, trace) for number, trace in enumerate(traces)]
        self.barriers: dict[Place, _Barrier] = {}
        self.rounds: dict[int, _Round] = {}
        self.done: dict[SSAValue, list[_Done]] = {}
        self.accesses = 0
        self.written = {
            touch.base
            for trace in traces
            for event in trace.events
            if isinstance(event, AccessEvent)
            for touch in event.touches
            if touch.is_write
        }

    def run(self) -> None:
        while True:
            moved = False
            for member in self.members:
                while member.at < len(member.trace.events):
                    if not self._step(member, member.trace.events[member.at]):
                        break
                    member.at += 1
                    moved = True
            stuck = [each for each in self.members if each.at < len(each.trace.events)]
            if not stuck:
                break
            if not moved:
                raise _Wrong(self._deadlock(stuck))
        self._unbalanced()

    def _step(self, member: _Member, event: Event) -> bool:
        """Do an event; false if it has to wait."""
        if isinstance(event, WaitEvent):
            return self._wait(member, event)
        if isinstance(event, NamedBarrierEvent):
            return self._meet(member, event)
        if isinstance(event, Arrive):
            self._arrive(member, event)
        elif isinstance(event, AccessEvent):
            self._access(member, event)
        elif isinstance(event, Commit):
            member.committed[event.group] = member.committed.get(event.group, 0) + 1
        else:
            self._wait_group(member, event)
        return True

    # -- barriers ----------------------------------------------------------------------------

    def _barrier(self, place: Place, op: Operation) -> _Barrier:
        found = self.barriers.get(place)
        if found is None:
            row, number = place
            alloc = row.owner
            counts = alloc.arrive_counts if isinstance(alloc, AllocOp) else None
            if not isinstance(alloc, AllocOp) or counts is None or not 0 <= number < len(counts):
                text = f"there is no barrier {number} in this row"
                raise _Wrong(SyncFinding(FaultKind.COUNT, op, text))
            name = f"{alloc.buffer_name}[{number}]"
            found = self.barriers[place] = _Barrier(name, alloc, counts[number])
        return found

    def _wait(self, member: _Member, event: WaitEvent) -> bool:
        barrier = self._barrier(event.place, event.op)
        if member.target is None:
            known = member.clock.get(event.place, 0)
            member.target = known if (known & 1) != event.parity else known + 1
        target = member.target
        if barrier.phase < target:
            return False
        if barrier.phase > target:
            raise _Wrong(self._overrun(barrier, member.trace.name, event.op))
        member.target = None
        if target:
            _join(member.clock, barrier.ended[target - 1])
        barrier.waited.append((member.number, member.tick(), event.op))
        return True

    def _overrun(self, barrier: _Barrier, name: str, op: Operation) -> SyncFinding:
        text = (
            f"{name} may come too late to this wait: nothing keeps the next phase of "
            f"{barrier.name} from ending before it, and then the parity is wrong again"
        )
        return SyncFinding(FaultKind.OVERRUN, op, text, ((barrier.op, "the barrier is made here"),))

    def _arrive(self, member: _Member, event: Arrive) -> None:
        barrier = self._barrier(event.place, event.op)
        if barrier.arrived + event.threads > barrier.count:
            text = (
                f"{barrier.arrived + event.threads} arrivals at {barrier.name} in one phase, "
                f"but it is made for {barrier.count}"
            )
            note = ((barrier.op, "the barrier is made here"),)
            raise _Wrong(SyncFinding(FaultKind.COUNT, event.op, text, note))
        member.tick()
        barrier.arrived += event.threads
        barrier.due += event.bytes
        barrier.announced += event.bytes
        _join(barrier.gathered, member.clock)
        self._advance(event.place, barrier)

    def _advance(self, place: Place, barrier: _Barrier) -> None:
        if barrier.arrived < barrier.count or barrier.due:
            return
        clock = dict(barrier.ended[-1]) if barrier.ended else {}
        _join(clock, barrier.gathered)
        clock[place] = barrier.phase + 1
        for who, time, op in barrier.waited:
            if clock.get(who, 0) < time:
                raise _Wrong(self._overrun(barrier, self.members[who].trace.name, op))
        barrier.ended.append(clock)
        barrier.gathered, barrier.waited = {}, []
        barrier.arrived = barrier.due = barrier.announced = barrier.delivered = 0

    def _meet(self, member: _Member, event: NamedBarrierEvent) -> bool:
        found = self.rounds.setdefault(event.number, _Round())
        if member.met is None:
            member.tick()
            found.arrived += event.threads
            _join(found.gathered, member.clock)
            member.met = found.round
            if found.arrived >= event.count:
                found.ended.append(found.gathered)
                found.gathered, found.arrived = {}, 0
                found.round += 1
        if event.waits and found.round <= member.met:
            return False
        if event.waits:
            _join(member.clock, found.ended[member.met])
        member.met = None
        return True

    # -- memory ------------------------------------------------------------------------------

    def _access(self, member: _Member, event: AccessEvent) -> None:
        time = member.tick()
        if event.place is not None:
            known = self.barriers.get(event.place)
            phase = 0 if known is None else known.phase
            self._record(event.place, phase + 1, member, event)
            self._deliver(member, event, event.place)
        elif event.group:
            committed = member.committed.get(event.group, 0)
            self._record((member.number, event.group), committed + 1, member, event)
        else:
            self._record(member.number, time, member, event)

    def _deliver(self, member: _Member, event: AccessEvent, place: Place) -> None:
        """What a copy brings to its barrier."""
        barrier = self._barrier(place, event.op)
        if event.announces:
            barrier.due += event.bytes
            barrier.announced += event.bytes
        barrier.due -= event.bytes
        barrier.delivered += event.bytes
        _join(barrier.gathered, member.clock)
        self._advance(place, barrier)

    def _record(self, key: object, time: int, member: _Member, event: AccessEvent) -> None:
        self.accesses += 1
        clock = member.clock
        is_async = key != member.number
        for touch in event.touches:
            if touch.base not in self.written:
                continue
            mine = _Done(self.accesses, key, time, touch, event.op, member.trace.name, is_async)
            earlier = self.done.get(touch.base, [])
            for other in earlier:
                if other.number == self.accesses or clock.get(other.key, 0) >= other.time:
                    continue
                if touch.meets(other.touch):
                    raise _Wrong(_unordered(other, mine))
            # What comes after a write is after all that it overwrites, or meets the write itself.
            kept = [other for other in earlier if not touch.hides(other.touch)]
            self.done[touch.base] = [*kept, mine]

    def _wait_group(self, member: _Member, event: WaitGroup) -> None:
        over = member.committed.get(event.group, 0) - event.left
        _join(member.clock, {(member.number, event.group): over})

    # -- reports -----------------------------------------------------------------------------

    def _deadlock(self, stuck: list[_Member]) -> SyncFinding:
        notes: list[tuple[Operation, str]] = []
        first, kind = "", FaultKind.DEADLOCK
        for member in stuck:
            event = member.trace.events[member.at]
            if isinstance(event, WaitEvent):
                barrier = self._barrier(event.place, event.op)
                if barrier.due and barrier.arrived == barrier.count:
                    kind = FaultKind.BYTES
                text = (
                    f"{member.trace.name} waits for phase {(member.target or 1) - 1} of "
                    f"{barrier.name}, where {barrier.missing()}"
                )
            else:
                text = f"{member.trace.name} waits at a named barrier"
            first = first or text
            notes.append((event.op, text))
        where = stuck[0].trace.events[stuck[0].at].op
        word = "bytes do not add up" if kind is FaultKind.BYTES else "deadlock"
        return SyncFinding(kind, where, f"{word}: {first}", tuple(notes[1:]))

    def _unbalanced(self) -> None:
        for barrier in self.barriers.values():
            if barrier.due:
                text = (
                    f"{barrier.announced} bytes were announced at {barrier.name} in its last "
                    f"phase, copies bring {barrier.delivered}"
                )
                raise _Wrong(SyncFinding(FaultKind.BYTES, barrier.op, text))


def _unordered(one: _Done, other: _Done) -> SyncFinding:
    first, second = (_does(each) for each in (one, other))
    text = f"{second}, but nothing orders this after {first} of the same bytes"
    return SyncFinding(FaultKind.UNORDERED, other.op, text, ((one.op, "the other access is here"),))


def _does(done: _Done) -> str:
    owner = done.touch.base.owner
    name = owner.buffer_name if isinstance(owner, AllocOp) else done.touch.base.name_hint
    what = "write" if done.touch.is_write else "read"
    box = ", ".join(f"{a}:{b}" for a, b in done.touch.box or ())
    how = f"an asynchronous {what} that {done.name} issued" if done.is_async else (
        f"a {what} by {done.name}"
    )  # fmt: skip
    return f"{how} ({name}[{box}])"
