"""Tasks, barriers and engines without data, which tell the ordering checker what they do.

A task is a generator that yields whenever others may run: None to go on, a `Wait` to go on when
something holds. An operation is issued by a task and finishes when the schedule says so; only then
does it signal its barriers. Which order is followed hardly matters: the checker compares what is
ordered by barriers, not what came first. A few `SCHEDULES` are run all the same, because a task
that could run ahead must do so in one of them for a deadlock to show.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tilewright.analysis.ordering import (
    TITLES,
    Access,
    Agent,
    ByteRegion,
    Cause,
    Checker,
    Finding,
    PossibleSignal,
    Proxy,
    Remark,
)
from tilewright.analysis.ordering.clocks import covers
from tilewright.analysis.ordering.findings import counted
from tilewright.analysis.ordering.stuck import StuckGate

Steps: TypeAlias = "Generator[Wait | None, None, None]"
GroupKind: TypeAlias = Literal["copies", "stores", "products"]
_WORDS: dict[GroupKind, str] = {
    "copies": "copies",
    "stores": "TMA stores",
    "products": "products",
}
_OF_THREADS = ("cp.async", "wgmma")
STEP_LIMIT = 10_000
"""Steps of all tasks in one run."""


class Misuse(Exception):
    """Something is used in a way that the hardware does not define."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


class TooLong(Exception):
    """The run has more steps than are followed."""


@dataclass(eq=False)
class Wait:
    """Why a task does not go on."""

    what: str
    place: int
    test: Callable[[], bool]
    barrier: Barrier | None = None
    parity: int = 0
    gate: NamedBarrier | None = None


@dataclass(eq=False)
class Barrier:
    """A memory barrier."""

    key: Hashable
    name: str
    owner: str
    count: int
    phase: int = 0
    arrived: int = 0
    bytes_due: int = 0

    def arrive(self, count: int, place: int) -> None:
        if self.arrived + count > self.count:
            came = f"{self.arrived + count} arrivals on {self.name} in phase {self.phase}"
            fix = f"arrive less often, or make it with arrive_count={self.arrived + count}"
            missing = f"{self.name} is made for {counted(self.count, 'arrival')} a phase"
            cause = Cause("count", missing, Remark(fix, place), self.owner)
            raise Misuse(Finding(f"{TITLES['count']}: {came}, one of them here", place, cause))
        self.arrived += count

    def advance(self) -> bool:
        """End the phase if nothing is missing."""
        if self.arrived < self.count or self.bytes_due:
            return False
        self.phase += 1
        self.arrived = 0
        return True

    def has_passed(self, parity: int) -> bool:
        return (self.phase & 1) != (parity & 1)


@dataclass(eq=False)
class NamedBarrier:
    """A barrier of threads."""

    name: str
    threads: int = 0
    arrived: int = 0
    generation: int = 0

    def come(self, count: int, threads: int, place: int) -> int:
        """Threads come; the generation that opens for them."""
        if self.arrived + count > threads or (self.arrived and threads != self.threads):
            wanted = self.threads or threads
            missing = f"{self.arrived + count} threads come to {self.name}, which is for {wanted}"
            fix = Remark("give the number of threads that come to it", place)
            cause = Cause("count", missing, fix, self.name)
            raise Misuse(Finding(f"{TITLES['count']}: {missing}", place, cause))
        self.threads = threads
        self.arrived += count
        wanted = self.generation + 1
        if self.arrived == threads:
            self.generation, self.arrived = wanted, 0
        return wanted

    def missing(self) -> str:
        return f"{self.arrived} of {self.threads} threads came"


@dataclass(eq=False)
class Task:
    """A thread of control."""

    name: str
    strand: Agent
    threads: int
    first_thread: int = 0
    cta: int = 0
    steps: Steps | None = None
    wait: Wait | None = None
    is_done: bool = False
    groups: dict[GroupKind, list[list[Operation]]] = field(
        default_factory=dict[GroupKind, "list[list[Operation]]"]
    )
    """Committed groups, oldest first."""
    open: list[Operation] = field(default_factory=list["Operation"])
    """Copies since the last commit."""
    copies: list[Operation] = field(default_factory=list["Operation"])
    """All copies by threads so far."""


@dataclass(frozen=True)
class AliasRange:
    """Bytes that an operation works on."""

    region: ByteRegion
    proxy: Proxy
    writes: bool = False
    also_reads: bool = False
    """What is written is added to."""


@dataclass(eq=False)
class Operation:
    """Something that an engine does later."""

    strand: Agent
    engine: str
    cta: int
    in_order: bool
    place: int
    accesses: list[tuple[Access, bool]]
    """With whether what is written is read first."""
    delivers: Sequence[tuple[Barrier, int]] = ()
    arrives: Sequence[tuple[Barrier, int]] = ()
    after: Sequence[Operation] = ()
    """Those that must be done before it is."""
    is_done: bool = False
    is_waited_for: bool = False
    """Whether its issuer has waited for it."""


@dataclass(frozen=True)
class Schedule:
    """An order in which things happen."""

    engines: Literal["late", "early", "any"] = "late"
    is_reversed: bool = False
    """Whether the youngest task goes on as far as it can, or the oldest."""
    seed: int = 0


SCHEDULES = (Schedule("late"), Schedule("early", is_reversed=True), Schedule("any", seed=1))


class Machine:
    """One run of the CTAs of a cluster."""

    def __init__(self, signals: Callable[[str], Sequence[PossibleSignal]]) -> None:
        self.checker = Checker(signals)
        self.tasks: list[Task] = []
        self.barriers: dict[Hashable, Barrier] = {}
        self.gates: dict[Hashable, NamedBarrier] = {}
        self.direct: dict[int, Finding] = {}
        """By place, what is wrong whatever the order of events."""
        self._queue: list[Operation] = []
        self._issued: list[Operation] = []
        self._steps = 0

    # -- tasks -------------------------------------------------------------------------------

    def spawn(
        self,
        name: str,
        threads: int,
        body: Callable[[Task], Steps],
        parent: Task | None = None,
        *,
        cta: int = 0,
        first_thread: int = 0,
    ) -> Task:
        """A task starts."""
        strand = self.checker.task(name, None if parent is None else parent.strand)
        task = Task(name, strand, threads, first_thread, cta)
        task.steps = body(task)
        self.tasks.append(task)
        return task

    def join(self, task: Task, others: Sequence[Task], place: int) -> Steps:
        """A task goes on when others have ended."""
        yield Wait(_JOIN, place, lambda: all(each.is_done for each in others))
        self.checker.join(task.strand, [each.strand for each in others])

    # -- memory ------------------------------------------------------------------------------

    def access(
        self, task: Task, region: ByteRegion, proxy: Proxy, place: int, *, writes: bool
    ) -> None:
        """A task reads or writes."""
        deed = "write" if writes else "read"
        access = self.checker.access(task.strand, deed, region, proxy, place)
        self.checker.takes_effect(access, task.strand)

    # -- memory barriers ---------------------------------------------------------------------

    def init(self, task: Task, barrier: Barrier, place: int) -> None:
        self.barriers[barrier.key] = barrier
        self.checker.init(
            task.strand, barrier.key, barrier.name, barrier.owner, barrier.count, place
        )

    def arrive(self, strand: Agent, barrier: Barrier, count: int, place: int) -> None:
        self.checker.arrive(strand, barrier.key, count, place)
        barrier.arrive(count, place)
        self._advance(barrier)

    def expect(self, task: Task, barrier: Barrier, size_bytes: int, place: int) -> None:
        """Announce bytes and arrive."""
        self.checker.expect(task.strand, barrier.key, size_bytes, place)
        barrier.bytes_due += size_bytes
        self.arrive(task.strand, barrier, 1, place)

    def _advance(self, barrier: Barrier) -> None:
        if barrier.advance():
            self.checker.phase(barrier.key)

    def wait(self, task: Task, barrier: Barrier, parity: int, place: int) -> Steps:
        """Until the phase of a parity has ended."""
        self.checker.waiting(task.strand, barrier.key)
        what = f"the phase of parity {parity & 1} of {barrier.name}"
        yield Wait(what, place, lambda: barrier.has_passed(parity), barrier, parity & 1)
        self.checker.waited(task.strand, barrier.key, parity & 1, place)

    # -- barriers of threads -----------------------------------------------------------------

    def come(self, task: Task, gate: NamedBarrier, threads: int, place: int) -> int:
        self.checker.came(task.strand, gate, gate.generation + 1, gate.name, place)
        return gate.come(task.threads, threads, place)

    def opened(self, task: Task, gate: NamedBarrier, generation: int, place: int) -> Steps:
        yield Wait(gate.name, place, lambda: gate.generation >= generation, gate=gate)
        self.checker.went(task.strand, gate, generation)

    # -- operations --------------------------------------------------------------------------

    def issue(
        self,
        task: Task,
        what: str,
        engine: str,
        place: int,
        parts: Sequence[AliasRange],
        *,
        in_order: bool = False,
        delivers: Sequence[tuple[Barrier, int]] = (),
        arrives: Sequence[tuple[Barrier, int]] = (),
        after: Sequence[Operation] = (),
    ) -> Operation:
        """An operation is under way; its accesses count from here on."""
        checker = self.checker
        gates = tuple(barrier.key for barrier, _ in (*delivers, *arrives))
        strand = checker.issue(task.strand, what, engine, in_order, gates)
        turn = checker.visit(task.strand.name, place, "issue")
        accesses: list[tuple[Access, bool]] = []
        for part in parts:
            deed = "write" if part.writes else "read"
            access = checker.access(strand, deed, part.region, part.proxy, place, turn)
            accesses.append((access, part.also_reads))
        made = Operation(
            strand, engine, task.cta, in_order, place, accesses, delivers, arrives, after
        )
        self._queue.append(made)
        self._issued.append(made)
        return made

    def _complete(self, operation: Operation) -> None:
        checker, strand = self.checker, operation.strand
        for each in operation.after:
            if not each.is_done:
                self._complete(each)
        self._queue.remove(operation)
        checker.join(strand, [each.strand for each in operation.after])
        for access, also_reads in operation.accesses:
            if access.deed == "read" or also_reads:
                checker.takes_effect(replace(access, deed="read"), strand)
        for access, _ in operation.accesses:
            if access.deed == "write":
                checker.takes_effect(access, strand)
        for barrier, size in operation.delivers:
            checker.deliver(strand, barrier.key, size, operation.place)
            barrier.bytes_due -= size
            self._advance(barrier)
        for barrier, count in operation.arrives:
            self.arrive(strand, barrier, count, operation.place)
        operation.is_done = True

    def groups(self, task: Task, kind: GroupKind) -> list[list[Operation]]:
        return task.groups.setdefault(kind, [])

    def wait_groups(self, task: Task, kind: GroupKind, leave: int, place: int) -> Steps:
        """Until at most `leave` groups of a task are under way."""
        groups = self.groups(task, kind)
        covered = groups[: max(len(groups) - leave, 0)]
        done = [operation for group in covered for operation in group]
        yield Wait(_WORDS[kind], place, lambda: all(each.is_done for each in done))
        del groups[: len(covered)]
        for each in done:
            each.is_waited_for = True
        self.checker.join(task.strand, [each.strand for each in done])

    def wait_for(self, task: Task, operation: Operation, place: int) -> Steps:
        """Until one operation is done."""
        yield Wait("an operation", place, lambda: operation.is_done)
        self.checker.join(task.strand, [operation.strand])

    def used(self, task: Task, operation: Operation, place: int) -> None:
        """A task looks at the result of an operation, which it must have waited for."""
        if operation.is_waited_for:
            return
        what = operation.strand.operation
        fix = Remark("use what tlx.async_dot_wait returns instead", place)
        cause = Cause("wait", f"{task.name} does not wait for {what} to be done", fix)
        message = f"{TITLES['wait']}: the result of {what} is used before it is there"
        self.direct.setdefault(place, Finding(message, place, cause))

    def leave(self, task: Task) -> None:
        """A CTA ends: engines must not need its memory any more.

        Copies and products of threads end with their threads; engines know nothing of those.
        """
        seen = task.strand.knowledge.seen
        for operation in self._issued:
            if operation.engine.startswith(_OF_THREADS) or operation.cta != task.cta:
                continue
            for access, _ in operation.accesses:
                if covers(seen, access.component, access.time):
                    continue
                what, place = operation.strand.operation, operation.place
                missing = f"nothing makes the CTA wait for {what} before it ends"
                cause = Cause("wait", missing, Remark("wait for it before the end", place))
                message = (
                    f"{TITLES['wait']}: the CTA may end while {what} still {access.deed}s "
                    f"{access.region.name}"
                )
                self.direct.setdefault(place, Finding(message, place, cause))

    # -- runs --------------------------------------------------------------------------------

    def run(self, schedule: Schedule) -> Finding | None:
        """Run to the end; a finding if nothing can happen any more before that."""
        dice = random.Random(schedule.seed)
        while True:
            tasks = [task for task in self.tasks if not task.is_done]
            if not tasks:
                return None
            ready = [task for task in tasks if task.wait is None or task.wait.test()]
            finished = self._completable()
            if schedule.engines == "early" and finished:
                self._complete(finished[0])
            elif schedule.engines == "any" and (ready or finished):
                choice = dice.choice([*ready, *finished])
                if isinstance(choice, Task):
                    self._step(choice)
                else:
                    self._complete(choice)
            elif ready:
                self._step(ready[-1 if schedule.is_reversed else 0])
            elif finished:
                self._complete(finished[0])
            else:
                return self._stuck(tasks)

    def _completable(self) -> list[Operation]:
        """Operations that may finish now: of an engine that works in order, the oldest."""
        found: list[Operation] = []
        seen: set[str] = set()
        for each in self._queue:
            if each.in_order and each.engine in seen:
                continue
            seen.add(each.engine if each.in_order else "")
            found.append(each)
        return found

    def _step(self, task: Task) -> None:
        self._steps += 1
        if self._steps > STEP_LIMIT:
            raise TooLong
        assert task.steps is not None
        try:
            task.wait = next(task.steps)
        except StopIteration:
            task.is_done = True

    def _stuck(self, tasks: Sequence[Task]) -> Finding:
        """Why all tasks wait."""
        on_barriers = [
            (task.strand, task.wait.barrier.key, task.wait.parity, task.wait.place)
            for task in tasks
            if task.wait is not None and task.wait.barrier is not None
        ]
        gates = [
            StuckGate(task.name, task.wait.gate.name, task.wait.gate.missing(), task.wait.place)
            for task in tasks
            if task.wait is not None and task.wait.gate is not None
        ]
        found = self.checker.stuck(on_barriers, gates)
        if found is not None:
            return found
        stuck = next(task for task in tasks if task.wait is not None)
        assert stuck.wait is not None
        missing = f"what {stuck.name} waits for, {stuck.wait.what}, never comes"
        fix = Remark("let whoever it waits for come to its end", stuck.wait.place)
        cause = Cause("arrive", missing, fix)
        return Finding(f"{TITLES['arrive']}: {stuck.name} waits in vain", stuck.wait.place, cause)


_JOIN = "the end of tasks"
