"""Follows the events of one run and finds what nothing orders.

    checker = Checker()
    checker.memory("smem", "shared memory", 1024)
    producer = checker.task("producer")
    ...
    checker.access(producer, "write", region, "generic", place=3)
    for finding in checker.findings():
        print(finding.message)

Orders, not times, are compared: two accesses are in conflict if no chain of releases and waits
leads from one to the other, whether or not they met in this run. An operation's accesses count from
its issue, because nothing but a wait for it puts anything behind them.

Every finding has a witness: the run that the events are from. What the events do not show is not
claimed; `not_analysed` lists what was seen and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from tilewright.analysis.ordering.barriers import Generations, NamedBarrierRound, Signal, short_task
from tilewright.analysis.ordering.clocks import Agent, Agents, covers, join
from tilewright.analysis.ordering.explain import explain
from tilewright.analysis.ordering.findings import TITLES, Cause, Finding, Remark, counted
from tilewright.analysis.ordering.history import History, PossibleSignal
from tilewright.analysis.ordering.regions import (
    Access,
    ByteRegion,
    ByteTables,
    Deed,
    OrderingConflict,
    Owners,
    Proxy,
)
from tilewright.analysis.ordering.stale import Deliveries, stale_findings
from tilewright.analysis.ordering.stuck import StuckGate, StuckWait, blame

_MAX_CLASHES = 2000
"""A run that is wrong everywhere is told by its first conflicts."""


@dataclass
class _Buffer:
    """Whether a buffer was of use."""

    place: int | None
    memory: Hashable
    writer: Access | None = None
    is_read: bool = False


class Checker:
    """What is known in one run of the tasks of a cluster."""

    def __init__(
        self,
        signals: Callable[[str], Sequence[PossibleSignal]] = lambda name: (),
        waiters: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        """`signals` and `waiters` tell of an array of barriers what the program does with it, as
        far as that is known."""
        self._strands = Agents()
        self._tables: dict[Hashable, ByteTables] = {}
        self._owners: dict[Hashable, Owners] = {}
        self._barriers: dict[Hashable, Generations] = {}
        self._retired: list[Generations] = []
        self._meetings: dict[tuple[Hashable, int], NamedBarrierRound] = {}
        self._last: dict[tuple[str, str], Agent] = {}
        self._visits: dict[tuple[str, int, str], int] = {}
        self._clashes: dict[tuple[int, int, bool], OrderingConflict] = {}
        self._direct: dict[tuple[str, int, int], Finding] = {}
        self._buffers: dict[str, _Buffer] = {}
        self._seen_at: dict[int, Sequence[int]] = {}
        self._deliveries = Deliveries()
        self._signals = signals
        self._waiters = waiters
        self._overrun: tuple[Agent, Generations, int, Signal] | None = None
        self._accesses = 0
        self.events = 0
        self.not_analysed: dict[str, None] = {}

    def _tick(self) -> int:
        self.events += 1
        return self.events

    # -- tasks and operations ----------------------------------------------------------------

    def memory(self, key: Hashable, name: str, size_bytes: int) -> None:
        """Bytes that accesses are about."""
        self._tables[key] = ByteTables(name, size_bytes)
        self._owners[key] = Owners(size_bytes)

    def task(self, name: str, parent: Agent | None = None) -> Agent:
        """A task begins, after what its parent has done."""
        strand = self._strands.task(name, parent)
        if parent is not None:
            parent.tick()
        return strand

    def join(self, strand: Agent, others: Iterable[Agent]) -> None:
        """A strand goes on after others are over."""
        for other in others:
            strand.knowledge.learn(other.knowledge)

    def issue(
        self,
        issuer: Agent,
        what: str,
        engine: str,
        in_order: bool = False,
        gates: tuple[Hashable, ...] = (),
    ) -> Agent:
        """An operation is under way, after what its issuer has done so far; it tells `gates`.

        Operations that one task gives to an engine that works in order follow each other.
        """
        event = self._tick()
        line = (engine, issuer.name)
        before = self._last.get(line) if in_order else None
        strand = self._strands.operation(issuer.name, what, engine, issuer, event)
        strand.gates = gates
        if before is not None:
            strand.knowledge.learn(before.knowledge)
        if in_order:
            self._last[line] = strand
        issuer.tick()
        return strand

    def fence(self, strand: Agent) -> None:
        """What the strand knows is published to copy engines."""
        join(strand.knowledge.fenced, strand.knowledge.seen)
        strand.tick()

    def came(
        self, strand: Agent, barrier: Hashable, generation: int, name: str = "", place: int = 0
    ) -> None:
        """A task comes to a barrier of threads."""
        meeting = self._meetings.setdefault(
            (barrier, generation), NamedBarrierRound(name, generation)
        )
        meeting.knowledge.learn(strand.knowledge)
        meeting.came[strand.name] = place
        strand.tick()

    def went(self, strand: Agent, barrier: Hashable, generation: int) -> None:
        """It goes on, after all who came."""
        meeting = self._meetings[barrier, generation]
        meeting.went[strand.name] = None
        strand.knowledge.learn(meeting.knowledge)

    # -- memory ------------------------------------------------------------------------------

    def visit(self, task: str, place: int, what: str) -> int:
        """How often a task came to a line before."""
        key = (task, place, what)
        self._visits[key] = self._visits.get(key, -1) + 1
        return self._visits[key]

    def is_repeated(self, access: Access) -> bool:
        """Whether the iteration of an access says anything."""
        what = "issue" if access.operation else access.deed
        return self._visits.get((access.task, access.place, what), 0) > 0

    def access(
        self,
        strand: Agent,
        deed: Deed,
        region: ByteRegion,
        proxy: Proxy,
        place: int,
        iteration: int | None = None,
    ) -> Access:
        """Bytes are touched: compare with what was there, and remember."""
        tables = self._tables[region.memory]
        self._accesses += 1
        if iteration is None:
            iteration = self.visit(strand.name, place, deed)
        access = Access(
            self._accesses,
            deed,
            region,
            proxy,
            strand.name,
            place,
            iteration,
            strand.component,
            strand.time,
            self._tick(),
            strand.operation,
            strand.engine,
            tables.last_write(region),
            strand.gates,
        )
        seen = strand.knowledge.seen
        for clash in tables.clashes(access, seen, strand.knowledge.fenced):
            self._add(clash, seen)
        if deed == "read":
            self._deliveries.reads(access, tables.copies(region), seen)
        elif strand.gates:
            self._deliveries.writes(strand, access)
        tables.add(access)
        self._use(access)
        return access

    def _add(self, clash: OrderingConflict, seen: Sequence[int]) -> None:
        key = (clash.first.place, clash.second.place, clash.needs_fence)
        if key not in self._clashes and len(self._clashes) < _MAX_CLASHES:
            self._clashes[key] = clash
            self._seen_at[clash.second.number] = list(seen)

    def _use(self, access: Access) -> None:
        region = access.region
        buffer = self._buffers.setdefault(region.owner, _Buffer(region.place, region.memory))
        if access.deed == "read":
            buffer.is_read = True
        elif buffer.writer is None:
            buffer.writer = access

    def touched(self, region: ByteRegion, deed: Deed) -> None:
        """Some bytes of a region are touched, it is not known which: nothing is compared."""
        buffer = self._buffers.setdefault(region.owner, _Buffer(region.place, region.memory))
        buffer.is_read = buffer.is_read or deed == "read"

    def takes_effect(self, access: Access, strand: Agent) -> None:
        """An access happens now: its value is that of whoever wrote last."""
        owners = self._owners[access.region.memory]
        if access.deed == "write":
            owners.wrote(access)
            return
        found = owners.lost(access.region)
        if found is None:
            return
        writer, size = found
        if not covers(strand.knowledge.seen, writer.component, writer.time):
            return  # a race, and told as one
        self._lost(writer, access, size)

    def _lost(self, writer: Access, access: Access, size: int) -> None:
        owner = access.region.owner
        cause = Cause(
            "overwritten",
            f"{writer.region.owner} and {owner} share bytes, and {writer.region.name} is written "
            f"before {access.region.name} is read for the last time",
            Remark(
                f"read {owner} before {writer.region.owner} is written, or make them `distinct`",
                writer.place,
            ),
        )
        name = self._tables[access.region.memory].name
        message = (
            f"{TITLES['overwritten']}: {self._text(access)} finds {counted(size, 'byte')} of "
            f"{name} that {writer.region.name} has overwritten"
        )
        made = Finding(message, access.place, cause, writer, access, size)
        self._direct.setdefault(("overwritten", writer.place, access.place), made)

    # -- memory barriers ---------------------------------------------------------------------

    def init(
        self, strand: Agent, key: Hashable, name: str, owner: str, count: int, place: int
    ) -> None:
        """A barrier is made; one that was at the same place is over."""
        before = self._barriers.pop(key, None)
        if before is not None:
            self._retired.append(before)
        self._barriers[key] = Generations(
            key, name, owner, count, place, strand.component, strand.time, strand.name
        )
        strand.tick()

    def arrive(self, strand: Agent, key: Hashable, count: int, place: int) -> None:
        """Arrivals, just before they count."""
        self._signal("arrive", strand, key, count, place)

    def expect(self, strand: Agent, key: Hashable, size_bytes: int, place: int) -> None:
        """Bytes are announced."""
        self._signal("expect", strand, key, size_bytes, place)

    def deliver(self, strand: Agent, key: Hashable, size_bytes: int, place: int) -> None:
        """An operation has delivered bytes, just before they count."""
        barrier = self._barriers[key]
        issued = barrier.phase_at(strand.event)
        signal = self._signal("deliver", strand, key, size_bytes, place)
        self._deliveries.delivered(strand, barrier, signal.phase)
        if issued < signal.phase:
            self._late_bytes(barrier, signal, issued)

    def _signal(self, kind: str, strand: Agent, key: Hashable, amount: int, place: int) -> Signal:
        barrier = self._barriers[key]
        self._made_before(strand, barrier, place)
        if kind == "arrive":
            self._note_overrun(strand, barrier, place)
        assert kind == "arrive" or kind == "expect" or kind == "deliver"
        signal = barrier.signal(kind, strand, amount, place, self._tick())
        if not strand.operation:
            strand.tick()
        return signal

    def phase(self, key: Hashable) -> None:
        """A phase is complete."""
        self._barriers[key].end_phase(self._tick())

    def waiting(self, strand: Agent, key: Hashable) -> None:
        """A task comes to a wait."""
        self._barriers[key].waiters[strand.name] = None

    def waited(self, strand: Agent, key: Hashable, parity: int, place: int) -> None:
        """A wait has passed."""
        barrier = self._barriers[key]
        self._made_before(strand, barrier, place)
        barrier.waited(strand, parity, place, self._tick())

    def _made_before(self, strand: Agent, barrier: Generations, place: int) -> None:
        if covers(strand.knowledge.seen, barrier.component, barrier.time):
            return
        cause = Cause(
            "init",
            f"nothing orders the initialisation of {barrier.name} before its use by {strand.name}",
            Remark(
                "make it before the tasks start; between CTAs, tlx.cluster_barrier() after it",
                barrier.place,
            ),
            barrier.owner,
        )
        message = f"{TITLES['init']}: {strand.name} may use {barrier.name} too soon"
        made = Finding(
            message, place, cause, notes=(Remark(f"{barrier.name} is made here", barrier.place),)
        )
        self._direct.setdefault(("init", barrier.place, place), made)

    def _note_overrun(self, strand: Agent, barrier: Generations, place: int) -> None:
        """Somebody arrives in a phase and does not know that the one before has ended."""
        if strand.operation or self._overrun is not None:
            return
        known = barrier.known_to(strand)
        mine = [
            each
            for each in barrier.signals
            if each.kind == "arrive" and each.task == strand.name and each.phase >= known
        ]
        if mine and sum(each.amount for each in mine) >= barrier.count:
            self._overrun = (strand, barrier, place, mine[-1])

    def _overran(self, is_certain: bool) -> list[Finding]:
        """The first signal that may come a phase too early, if nothing else is wrong."""
        if self._overrun is None:
            return []
        strand, barrier, place, before = self._overrun
        if not (is_certain or barrier.waiters):
            return []  # phases that nobody waits for may end as they like
        crowded = self._crowded(strand)
        if crowded is not None:
            return [self._too_small(crowded, strand, place)]
        answer = self._answer_to(strand, barrier)
        fix = f"wait for whoever waits for {barrier.owner} before this"
        if answer:
            fix = f"tlx.barrier_wait on {answer} before this"
        cause = Cause(
            "wait",
            f"nothing tells {strand.name} that phase {before.phase} of {barrier.name} has ended: "
            f"it is made for {counted(barrier.count, 'arrival')} a phase",
            Remark(fix, place),
            answer or barrier.owner,
            (Remark(f"{strand.name} signals it here before", before.place),),
        )
        message = f"{TITLES['wait']}: {strand.name} signals {barrier.name} again too soon"
        return [Finding(message, place, cause)]

    def _crowded(self, strand: Agent) -> Generations | None:
        """The barrier that a task waited for last, if more tasks arrive on it than it is made
        for."""
        waited = [
            (record.event, i, barrier)
            for i, barrier in enumerate(self._barriers.values())
            for record in barrier.waits_of(strand.name)
        ]
        if not waited:
            return None
        last = max(waited, key=lambda each: each[:2])[2]
        return last if len(last.arrivers()) > last.count else None

    def _too_small(self, barrier: Generations, strand: Agent, place: int) -> Finding:
        arrivers = barrier.arrivers()
        cause = Cause(
            "count",
            f"{barrier.name} is made for {counted(barrier.count, 'arrival')}, but "
            f"{' and '.join(arrivers)} arrive: {strand.name} goes on before all of them have",
            Remark(f"make it with arrive_count={len(arrivers)}", barrier.place),
            barrier.owner,
        )
        message = f"{TITLES['count']}: {barrier.name} lets {strand.name} pass too soon"
        return Finding(message, place, cause)

    def _outrun(self) -> list[Finding]:
        """A wait that may come too late, if nothing else is wrong."""
        for barrier in [*self._retired, *self._barriers.values()]:
            found = barrier.outrun()
            if found is None:
                continue
            wait, signal = found
            cause = Cause(
                "wait",
                f"phase {wait.sure} of {barrier.name} may end before {wait.task} has come to its "
                f"wait for parity {wait.parity}, which then does not pass",
                Remark(f"let {signal.task} wait until {wait.task} is here", signal.place),
                barrier.owner,
                (Remark(f"{signal.task} signals the next phase here", signal.place),),
            )
            message = f"{TITLES['wait']}: nothing keeps {barrier.name} from running ahead"
            return [Finding(message, wait.place, cause)]
        return []

    def _answer_to(self, strand: Agent, barrier: Generations) -> str:
        """The barriers by which the other side says that it is done; empty if they are unknown.

        If the program is known, nobody waits for them.
        """
        helpers = {short_task(each) for each in barrier.waiters}
        words = set(barrier.owner.split("_"))
        found: list[tuple[bool, bool, str]] = []
        for each in self._barriers.values():
            tasks = {signal.task for signal in self._signals(each.owner)}
            if short_task(strand.name) in tasks or not tasks:
                continue
            if helpers and not tasks & helpers:
                continue
            if self._waiters is not None and self._waiters(each.owner):
                continue
            if any(wait.task == strand.name for wait in each.waits):
                continue
            is_unrelated = not words & set(each.owner.split("_"))
            found.append((is_unrelated, each.is_waited_for, each.owner))
        return min(found)[2] if found else ""

    def _late_bytes(self, barrier: Generations, signal: Signal, issued: int) -> None:
        """Bytes came in a later phase than the operation was issued in."""
        of_phase = [each for each in barrier.signals if each.phase == issued]
        announced = sum(each.amount for each in of_phase if each.kind == "expect")
        expect = next((each for each in of_phase if each.kind == "expect"), None)
        place = signal.place if expect is None else expect.place
        cause = Cause(
            "bytes",
            f"phase {issued} of {barrier.name} ends with {counted(announced, 'byte')}; "
            f"{signal.operation} brings {signal.amount} more that were issued in it",
            Remark(f"announce {counted(announced + signal.amount, 'byte')} here", place),
            barrier.owner,
            (Remark(f"{signal.operation} is issued here", signal.place),),
        )
        message = (
            f"{TITLES['bytes']}: {barrier.name} is told of {counted(announced, 'byte')} in a phase "
            f"in which at least {announced + signal.amount} are delivered"
        )
        self._direct.setdefault(("bytes", place, 0), Finding(message, place, cause))

    # -- the end -----------------------------------------------------------------------------

    def stuck(
        self,
        waits: Sequence[tuple[Agent, Hashable, int, int]],
        gates: Sequence[StuckGate] = (),
    ) -> Finding | None:
        """Why tasks that wait for barriers, with a parity, at a place, cannot go on.

        `gates` are tasks that wait at a barrier of threads.
        """
        found = blame(
            [
                StuckWait(strand, barrier, parity, place, self._signals(barrier.owner))
                for strand, key, parity, place in waits
                if (barrier := self._barriers.get(key)) is not None
            ],
            gates,
            list(self._barriers.values()),
            list(self._meetings.values()),
        )
        if found is None:
            return None
        wait, cause = found
        message = f"{TITLES[cause.kind]}: {wait} in vain"
        return Finding(message, wait.place, cause)

    def unread(self) -> dict[str, Access]:
        """Buffers that were written and never read, with their first write."""
        return {
            owner: buffer.writer
            for owner, buffer in self._buffers.items()
            if buffer.writer is not None and not buffer.is_read
        }

    def unread_copies(self) -> list[Access]:
        """Copies that reported to a barrier, and of which nobody has read a byte."""
        return [each for tables in self._tables.values() for each in tables.unread_copies()]

    def read_owners(self) -> set[str]:
        """Buffers that were read."""
        return {owner for owner, buffer in self._buffers.items() if buffer.is_read}

    def findings(self, is_certain: bool = False) -> list[Finding]:
        """What is wrong in this run, one finding a cause.

        `is_certain` says that a barrier did get too many arrivals.
        """
        barriers = [*self._retired, *self._barriers.values()]
        history = History(
            barriers,
            self._replaced,
            self._ordered,
            self._signals,
            list(self._meetings.values()),
            self._tasks_at,
            self._waiters,
            lambda copy, read: self._deliveries.handed_back(copy, read, barriers),
        )
        told: dict[tuple[str, str, str], Finding] = {}
        direct = list(self._direct.values())
        clashes = sorted(self._clashes.values(), key=_preference)
        if any(each.kind in ("bytes", "init") for each in direct):
            clashes = []  # they follow from a barrier that is not what it should be
        explained = [(clash, explain(clash, history)) for clash in clashes]
        explained.sort(key=lambda each: (_is_alias(each[0]), each[1].doubt, each[1].kind == "race"))
        lines: dict[str, tuple[str, str, str]] = {}
        for clash, cause in explained:
            if told and clash.first.task == clash.second.task and not clash.needs_fence:
                continue  # what two tasks do tells more
            pair = _pair(clash)
            key = (cause.kind, cause.barrier, "" if cause.barrier else pair)
            key = lines.setdefault(pair, key)
            if key in told:
                told[key] = replace(told[key], others=told[key].others + 1)
            else:
                told[key] = self._finding(clash, cause)
        # What two buffers do to each other in the same bytes may follow from a missing order.
        first = [each for each in direct if each.kind != "overwritten"]
        rest = [each for each in direct if each.kind == "overwritten"]
        return (
            [*first, *told.values(), *rest]
            or stale_findings(self._deliveries, barriers, self._text)
            or self._overran(is_certain)
            or self._outrun()
        )

    def _tasks_at(self, place: int) -> set[str]:
        return {task for task, line, _ in self._visits if line == place}

    def _replaced(self, access: Access) -> Access | None:
        return self._tables[access.region.memory].accesses.get(access.previous)

    def _ordered(self, first: Access, second: Access) -> bool:
        return covers(self._seen_at.get(second.number, ()), first.component, first.time)

    def _finding(self, clash: OrderingConflict, cause: Cause) -> Finding:
        first, second = clash.first, clash.second
        memory = self._tables[second.region.memory].name
        shared = f"{counted(clash.size_bytes, 'byte')} of {memory}"
        tail = "with no fence between them" if clash.needs_fence else "and nothing orders them"
        message = (
            f"{TITLES[cause.kind]}: {self._text(second)} and {self._text(first)} share {shared}, "
            f"{tail}"
        )
        notes: list[Remark] = []
        if first.region.owner != second.region.owner:
            one, other = first.region.name, second.region.name
            notes.append(Remark(f"{one} and {other} are different buffers in the same bytes"))
        return Finding(message, second.place, cause, first, second, clash.size_bytes, tuple(notes))

    def _text(self, access: Access) -> str:
        text = str(access)
        return f"{text} (iteration {access.iteration})" if self.is_repeated(access) else text


def _is_alias(clash: OrderingConflict) -> bool:
    """Whether it is about two buffers in the same bytes: what happens in one buffer tells more."""
    return clash.first.region.owner != clash.second.region.owner


def _preference(clash: OrderingConflict) -> tuple[bool, bool, int]:
    """A write against a read of another task tells most."""
    first, second = clash.first, clash.second
    same = first.task == second.task
    return same, first.deed == second.deed, second.event


def _pair(clash: OrderingConflict) -> str:
    """The two lines, whichever came first."""
    return " ".join(map(str, sorted((clash.first.place, clash.second.place))))
