"""Follows the events of one run and finds accesses that nothing orders.

    checker = Checker()
    checker.memory("smem", "shared memory", 1024)
    producer = checker.task("producer")
    ...
    checker.access(producer, "write", region, "generic", site=3)
    for finding in checker.findings():
        print(finding.message)

Orders, not times, are compared: two accesses are in conflict if no chain of releases and waits
leads from one to the other, whether or not they coincided in this run. An operation's accesses
count from its issue, because only a wait for it orders anything after them.

Every finding has a witness: the run that the events are from. What the events do not show is not
claimed; `not_analysed` lists what was seen and left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace

from tilewright.analysis.concurrency import AccessKind, Proxy
from tilewright.analysis.ordering.barriers import Generations, NamedBarrierRound, Signal
from tilewright.analysis.ordering.clocks import Agent, Agents, covers, join
from tilewright.analysis.ordering.deadlocks import BlockedNamedBarrier, BlockedWait, blame
from tilewright.analysis.ordering.explain import explain
from tilewright.analysis.ordering.findings import TITLES, Cause, Finding, Remark, counted
from tilewright.analysis.ordering.history import History, PossibleSignal
from tilewright.analysis.ordering.phases import (
    BarrierUses,
    Overrun,
    late_bytes,
    outrun,
    uninitialised,
)
from tilewright.analysis.ordering.regions import (
    Access,
    ByteRegion,
    ByteTables,
    OrderingConflict,
    Owners,
)
from tilewright.analysis.ordering.stale import Deliveries, stale_findings

_MAX_CONFLICTS = 2000
"""Conflicts reported at most; the first ones describe a run that is wrong everywhere."""


@dataclass
class _Buffer:
    """Whether a buffer was written and read."""

    site: int | None
    memory: Hashable
    writer: Access | None = None
    is_read: bool = False


class Checker:
    """The happens-before state of one run of the tasks of a cluster."""

    def __init__(
        self,
        signals: Callable[[str], Sequence[PossibleSignal]] = lambda name: (),
        waiters: Callable[[str], Sequence[str]] | None = None,
    ) -> None:
        """`signals` and `waiters` list the ops of the program that signal and wait for an array of
        barriers, as far as the program is available."""
        self._agents = Agents()
        self._tables: dict[Hashable, ByteTables] = {}
        self._owners: dict[Hashable, Owners] = {}
        self._barriers: dict[Hashable, Generations] = {}
        self._retired: list[Generations] = []
        self._rounds: dict[tuple[Hashable, int], NamedBarrierRound] = {}
        self._last: dict[tuple[str, str], Agent] = {}
        self._visits: dict[tuple[str, int, str], int] = {}
        self._conflicts: dict[tuple[int, int, bool], OrderingConflict] = {}
        self._direct: dict[tuple[str, int, int], Finding] = {}
        self._buffers: dict[str, _Buffer] = {}
        self._seen_at: dict[int, Sequence[int]] = {}
        self._deliveries = Deliveries()
        self._signals = signals
        self._waiters = waiters
        self._overrun: Overrun | None = None
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
        agent = self._agents.task(name, parent)
        if parent is not None:
            parent.tick()
        return agent

    def join(self, agent: Agent, others: Iterable[Agent]) -> None:
        """An agent continues after other agents have completed."""
        for other in others:
            agent.clocks.observe(other.clocks)

    def issue(
        self,
        issuer: Agent,
        what: str,
        engine: str,
        in_order: bool = False,
        barriers: tuple[Hashable, ...] = (),
    ) -> Agent:
        """An operation is in flight, ordered after what its issuer has done so far; it signals
        `barriers`.

        Operations that one task issues to a unit that executes in order follow each other.
        """
        event = self._tick()
        line = (engine, issuer.name)
        before = self._last.get(line) if in_order else None
        agent = self._agents.operation(issuer.name, what, engine, issuer, event)
        agent.barriers = barriers
        if before is not None:
            agent.clocks.observe(before.clocks)
        if in_order:
            self._last[line] = agent
        issuer.tick()
        return agent

    def fence(self, agent: Agent) -> None:
        """What the agent has observed is published to the async proxy (TMA, tensor cores)."""
        join(agent.clocks.fenced, agent.clocks.seen)
        agent.tick()

    def came(
        self, agent: Agent, barrier: Hashable, generation: int, name: str = "", site: int = 0
    ) -> None:
        """A task arrives on a named barrier."""
        round_ = self._rounds.setdefault((barrier, generation), NamedBarrierRound(name, generation))
        round_.clocks.observe(agent.clocks)
        round_.came[agent.name] = site
        agent.tick()

    def went(self, agent: Agent, barrier: Hashable, generation: int) -> None:
        """It continues after all tasks that arrived."""
        round_ = self._rounds[barrier, generation]
        round_.went[agent.name] = None
        agent.clocks.observe(round_.clocks)

    # -- memory ------------------------------------------------------------------------------

    def visit(self, task: str, site: int, what: str) -> int:
        """How many times a task reached a line before."""
        key = (task, site, what)
        self._visits[key] = self._visits.get(key, -1) + 1
        return self._visits[key]

    def is_repeated(self, access: Access) -> bool:
        """Whether the iteration of an access is informative."""
        what = "issue" if access.operation else access.kind
        return self._visits.get((access.task, access.site, what), 0) > 0

    def access(
        self,
        agent: Agent,
        kind: AccessKind,
        region: ByteRegion,
        proxy: Proxy,
        site: int,
        iteration: int | None = None,
    ) -> Access:
        """Bytes are accessed: compare with earlier accesses, and record this one."""
        tables = self._tables[region.memory]
        self._accesses += 1
        if iteration is None:
            iteration = self.visit(agent.name, site, kind)
        access = Access(
            self._accesses,
            kind,
            region,
            proxy,
            agent.name,
            site,
            iteration,
            agent.component,
            agent.time,
            self._tick(),
            agent.operation,
            agent.engine,
            tables.last_write(region),
            agent.barriers,
        )
        seen = agent.clocks.seen
        for conflict in tables.conflicts(access, seen, agent.clocks.fenced):
            self._add(conflict, seen)
        if kind == "read":
            self._deliveries.reads(access, tables.copies(region), seen)
        elif agent.barriers:
            self._deliveries.writes(agent, access)
        tables.add(access)
        self._use(access)
        return access

    def _add(self, conflict: OrderingConflict, seen: Sequence[int]) -> None:
        key = (conflict.first.site, conflict.second.site, conflict.needs_fence)
        if key not in self._conflicts and len(self._conflicts) < _MAX_CONFLICTS:
            self._conflicts[key] = conflict
            self._seen_at[conflict.second.index] = list(seen)

    def _use(self, access: Access) -> None:
        region = access.region
        buffer = self._buffers.setdefault(region.owner, _Buffer(region.site, region.memory))
        if access.kind == "read":
            buffer.is_read = True
        elif buffer.writer is None:
            buffer.writer = access

    def access_unknown(self, region: ByteRegion, kind: AccessKind) -> None:
        """Some bytes of a region are accessed, it is unknown which: nothing is compared."""
        buffer = self._buffers.setdefault(region.owner, _Buffer(region.site, region.memory))
        buffer.is_read = buffer.is_read or kind == "read"

    def takes_effect(self, access: Access, agent: Agent) -> None:
        """An access happens now: it reads the value of the last writer."""
        owners = self._owners[access.region.memory]
        if access.kind == "write":
            owners.wrote(access)
            return
        found = owners.lost(access.region)
        if found is None:
            return
        writer, size = found
        if not covers(agent.clocks.seen, writer.component, writer.time):
            return  # reported as a data race
        self._lost(writer, access, size)

    def _lost(self, writer: Access, access: Access, size: int) -> None:
        owner = access.region.owner
        cause = Cause(
            "overwritten",
            f"{writer.region.owner} and {owner} overlap, and {writer.region.name} is written "
            f"before {access.region.name} is read for the last time",
            Remark(
                f"read {owner} before {writer.region.owner} is written, or make them `distinct`",
                writer.site,
            ),
        )
        name = self._tables[access.region.memory].name
        message = (
            f"{TITLES['overwritten']}: {self._text(access)} returns {counted(size, 'byte')} of "
            f"{name} that {writer.region.name} has overwritten"
        )
        made = Finding(message, access.site, cause, writer, access, size)
        self._direct.setdefault(("overwritten", writer.site, access.site), made)

    # -- memory barriers ---------------------------------------------------------------------

    def init(
        self, agent: Agent, key: Hashable, name: str, owner: str, count: int, site: int
    ) -> None:
        """A barrier is initialised; the one that was at the same address is retired."""
        before = self._barriers.pop(key, None)
        if before is not None:
            self._retired.append(before)
        self._barriers[key] = Generations(
            key, name, owner, count, site, agent.component, agent.time, agent.name
        )
        agent.tick()

    def arrive(self, agent: Agent, key: Hashable, count: int, site: int) -> None:
        """Arrivals, just before they take effect."""
        self._signal("arrive", agent, key, count, site)

    def expect(self, agent: Agent, key: Hashable, size_bytes: int, site: int) -> None:
        """Expect-tx."""
        self._signal("expect", agent, key, size_bytes, site)

    def deliver(self, agent: Agent, key: Hashable, size_bytes: int, site: int) -> None:
        """Complete-tx of an operation, just before it takes effect."""
        barrier = self._barriers[key]
        issued = barrier.phase_at(agent.event)
        signal = self._signal("deliver", agent, key, size_bytes, site)
        self._deliveries.delivered(agent, barrier, signal.phase)
        if issued < signal.phase:
            self._late_bytes(barrier, signal, issued)

    def _signal(self, kind: str, agent: Agent, key: Hashable, amount: int, site: int) -> Signal:
        barrier = self._barriers[key]
        self._made_before(agent, barrier, site)
        if kind == "arrive":
            self._note_overrun(agent, barrier, site)
        assert kind == "arrive" or kind == "expect" or kind == "deliver"
        signal = barrier.signal(kind, agent, amount, site, self._tick())
        if not agent.operation:
            agent.tick()
        return signal

    def phase(self, key: Hashable) -> None:
        """A phase is complete."""
        self._barriers[key].end_phase(self._tick())

    def waiting(self, agent: Agent, key: Hashable) -> None:
        """A task reaches a wait."""
        self._barriers[key].waiters[agent.name] = None

    def waited(self, agent: Agent, key: Hashable, parity: int, site: int) -> None:
        """A wait has passed."""
        barrier = self._barriers[key]
        self._made_before(agent, barrier, site)
        barrier.waited(agent, parity, site, self._tick())

    def _made_before(self, agent: Agent, barrier: Generations, site: int) -> None:
        if not covers(agent.clocks.seen, barrier.component, barrier.time):
            made = uninitialised(barrier, agent, site)
            self._direct.setdefault(("init", barrier.site, site), made)

    def _note_overrun(self, agent: Agent, barrier: Generations, site: int) -> None:
        """A task arrives in a phase and is not ordered after the completion of the phase before."""
        if agent.operation or self._overrun is not None:
            return
        observed = barrier.observed_by(agent)
        own = [
            each
            for each in barrier.signals
            if each.kind == "arrive" and each.task == agent.name and each.phase >= observed
        ]
        if own and sum(each.amount for each in own) >= barrier.count:
            self._overrun = Overrun(agent, barrier, site, own[-1])

    def _late_bytes(self, barrier: Generations, signal: Signal, issued: int) -> None:
        """The complete-tx of an operation falls into a later phase than its issue."""
        made = late_bytes(barrier, signal, issued)
        self._direct.setdefault(("bytes", made.site, 0), made)

    def _overran(self, is_certain: bool) -> list[Finding]:
        """The first signal that may be one phase too early, if nothing else is wrong."""
        known = BarrierUses(list(self._barriers.values()), self._signals, self._waiters)
        return [] if self._overrun is None else known.overran(self._overrun, is_certain)

    # -- the end -----------------------------------------------------------------------------

    def deadlock(
        self,
        waits: Sequence[tuple[Agent, Hashable, int, int]],
        barriers: Sequence[BlockedNamedBarrier] = (),
    ) -> Finding | None:
        """Why tasks that wait for barriers, with a parity, at a site, deadlock.

        `named` are tasks that wait at named barriers.
        """
        found = blame(
            [
                BlockedWait(agent, barrier, parity, site, self._signals(barrier.owner))
                for agent, key, parity, site in waits
                if (barrier := self._barriers.get(key)) is not None
            ],
            barriers,
            list(self._barriers.values()),
            list(self._rounds.values()),
        )
        if found is None:
            return None
        wait, cause = found
        message = f"{TITLES[cause.kind]}: {wait} forever"
        return Finding(message, wait.site, cause)

    def unread(self) -> dict[str, Access]:
        """Buffers that were written and never read, with their first write."""
        return {
            owner: buffer.writer
            for owner, buffer in self._buffers.items()
            if buffer.writer is not None and not buffer.is_read
        }

    def unread_copies(self) -> list[Access]:
        """Copies that signalled a barrier, and of which no task has read a byte."""
        return [each for tables in self._tables.values() for each in tables.unread_copies()]

    def read_owners(self) -> set[str]:
        """Buffers that were read."""
        return {owner for owner, buffer in self._buffers.items() if buffer.is_read}

    def findings(self, is_certain: bool = False) -> list[Finding]:
        """What is wrong in this run, one finding a cause.

        `is_certain`: a barrier did get too many arrivals.
        """
        barriers = [*self._retired, *self._barriers.values()]
        history = History(
            barriers,
            self._replaced,
            self._ordered,
            self._signals,
            list(self._rounds.values()),
            self._tasks_at,
            self._waiters,
            lambda copy, read: self._deliveries.released(copy, read, barriers),
        )
        reported: dict[tuple[str, str, str], Finding] = {}
        direct = list(self._direct.values())
        conflicts = sorted(self._conflicts.values(), key=_preference)
        if any(each.kind in ("bytes", "init") for each in direct):
            conflicts = []  # they follow from a wrong barrier
        explained = [(conflict, explain(conflict, history)) for conflict in conflicts]
        explained.sort(key=lambda each: (_is_alias(each[0]), each[1].doubt, each[1].kind == "race"))
        lines: dict[str, tuple[str, str, str]] = {}
        for conflict, cause in explained:
            if (
                reported
                and conflict.first.task == conflict.second.task
                and not conflict.needs_fence
            ):
                continue  # a conflict between two tasks is more informative
            pair = _pair(conflict)
            key = (cause.kind, cause.barrier, "" if cause.barrier else pair)
            key = lines.setdefault(pair, key)
            if key in reported:
                reported[key] = replace(reported[key], others=reported[key].others + 1)
            else:
                reported[key] = self._finding(conflict, cause)
        # A conflict between overlapping buffers may follow from a missing order.
        first = [each for each in direct if each.kind != "overwritten"]
        rest = [each for each in direct if each.kind == "overwritten"]
        return (
            [*first, *reported.values(), *rest]
            or stale_findings(self._deliveries, barriers, self._text)
            or self._overran(is_certain)
            or outrun(barriers)
        )

    def _tasks_at(self, site: int) -> set[str]:
        return {task for task, line, _ in self._visits if line == site}

    def _replaced(self, access: Access) -> Access | None:
        return self._tables[access.region.memory].accesses.get(access.previous)

    def _ordered(self, first: Access, second: Access) -> bool:
        return covers(self._seen_at.get(second.index, ()), first.component, first.time)

    def _finding(self, conflict: OrderingConflict, cause: Cause) -> Finding:
        first, second = conflict.first, conflict.second
        memory = self._tables[second.region.memory].name
        shared = f"{counted(conflict.size_bytes, 'byte')} of {memory}"
        tail = (
            "without an async proxy fence between them"
            if conflict.needs_fence
            else "and nothing orders them"
        )
        message = (
            f"{TITLES[cause.kind]}: {self._text(second)} and {self._text(first)} access the same "
            f"{shared}, "
            f"{tail}"
        )
        notes: list[Remark] = []
        if first.region.owner != second.region.owner:
            one, other = first.region.name, second.region.name
            notes.append(Remark(f"{one} and {other} are different buffers that overlap"))
        return Finding(
            message, second.site, cause, first, second, conflict.size_bytes, tuple(notes)
        )

    def _text(self, access: Access) -> str:
        text = str(access)
        return f"{text} (iteration {access.iteration})" if self.is_repeated(access) else text


def _is_alias(conflict: OrderingConflict) -> bool:
    """Whether two overlapping buffers conflict: a conflict within one buffer is more
    informative."""
    return conflict.first.region.owner != conflict.second.region.owner


def _preference(conflict: OrderingConflict) -> tuple[bool, bool, int]:
    """A write against a read of another task is most informative."""
    first, second = conflict.first, conflict.second
    same = first.task == second.task
    return same, first.kind == second.kind, second.event


def _pair(conflict: OrderingConflict) -> str:
    """The two lines, in either order."""
    return " ".join(map(str, sorted((conflict.first.site, conflict.second.site))))
