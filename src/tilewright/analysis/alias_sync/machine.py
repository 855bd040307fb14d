"""Tasks, barriers and asynchronous units without data, which drive the ordering checker.

A task is a generator that yields wherever other tasks may run: None to continue, a `Wait` to
continue when a condition holds. An operation is issued by a task and completes when the schedule
chooses it; only then does it signal its barriers. The order hardly matters: the checker compares
what barriers order, not what came first. Still, a few `SCHEDULES` are run, because a task that
could run ahead must do so in one of them to expose a deadlock.
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
from tilewright.analysis.ordering.deadlocks import BlockedNamedBarrier

Steps: TypeAlias = "Generator[Wait | None, None, None]"
GroupKind: TypeAlias = Literal["copies", "stores", "products"]
_GROUP_NAMES: dict[GroupKind, str] = {
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
    """The run has more steps than `STEP_LIMIT`."""


@dataclass(eq=False)
class Wait:
    """Why a task is blocked."""

    what: str
    site: int
    test: Callable[[], bool]
    barrier: Barrier | None = None
    parity: int = 0
    named_barrier: NamedBarrier | None = None


@dataclass(eq=False)
class Barrier:
    """A memory barrier."""

    key: Hashable
    name: str
    owner: str
    count: int
    phase: int = 0
    arrived: int = 0
    tx_count: int = 0

    def arrive(self, count: int, site: int) -> None:
        if self.arrived + count > self.count:
            came = f"{self.arrived + count} arrivals on {self.name} in phase {self.phase}"
            fix = f"arrive less often, or use arrive_count={self.arrived + count}"
            missing = f"{self.name} is initialised with arrive count {self.count}"
            cause = Cause("count", missing, Remark(fix, site), self.owner)
            raise Misuse(Finding(f"{TITLES['count']}: {came}, one of them here", site, cause))
        self.arrived += count

    def advance(self) -> bool:
        """Complete the phase if nothing is missing."""
        if self.arrived < self.count or self.tx_count:
            return False
        self.phase += 1
        self.arrived = 0
        return True

    def has_passed(self, parity: int) -> bool:
        return (self.phase & 1) != (parity & 1)


@dataclass(eq=False)
class NamedBarrier:
    """A named barrier (`bar.sync id`)."""

    name: str
    threads: int = 0
    arrived: int = 0
    generation: int = 0

    def come(self, count: int, threads: int, site: int) -> int:
        """Threads arrive; the generation that they wait for."""
        if self.arrived + count > threads or (self.arrived and threads != self.threads):
            expected = self.threads or threads
            missing = (
                f"{self.arrived + count} threads arrive on {self.name} with thread count "
                f"{threads}, expected {expected}"
            )
            fix = Remark("pass the count of threads that arrive on it", site)
            cause = Cause("count", missing, fix, self.name)
            raise Misuse(Finding(f"{TITLES['count']}: {missing}", site, cause))
        self.threads = threads
        self.arrived += count
        expected = self.generation + 1
        if self.arrived == threads:
            self.generation, self.arrived = expected, 0
        return expected

    def missing(self) -> str:
        return f"{self.arrived} of {self.threads} threads arrived"


@dataclass(eq=False)
class Task:
    """A task or partition of the kernel."""

    name: str
    agent: Agent
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
    """Bytes that an operation accesses."""

    region: ByteRegion
    proxy: Proxy
    writes: bool = False
    also_reads: bool = False
    """The write accumulates."""


@dataclass(eq=False)
class Operation:
    """An asynchronous operation."""

    agent: Agent
    engine: str
    cta: int
    in_order: bool
    site: int
    accesses: list[tuple[Access, bool]]
    """The accessed bytes."""
    delivers: Sequence[tuple[Barrier, int]] = ()
    arrives: Sequence[tuple[Barrier, int]] = ()
    after: Sequence[Operation] = ()
    """Operations that must complete before it does."""
    is_done: bool = False
    is_waited_for: bool = False
    """Whether its issuer has waited for it."""


@dataclass(frozen=True)
class Schedule:
    """An order of events."""

    engines: Literal["late", "early", "any"] = "late"
    is_reversed: bool = False
    """Whether the youngest task runs as far as it can, or the oldest."""
    seed: int = 0


SCHEDULES = (Schedule("late"), Schedule("early", is_reversed=True), Schedule("any", seed=1))


class Machine:
    """One run of the CTAs of a cluster."""

    def __init__(self, signals: Callable[[str], Sequence[PossibleSignal]]) -> None:
        self.checker = Checker(signals)
        self.tasks: list[Task] = []
        self.barriers: dict[Hashable, Barrier] = {}
        self.named_barriers: dict[Hashable, NamedBarrier] = {}
        self.direct: dict[int, Finding] = {}
        """By site, findings that hold for every order of events."""
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
        agent = self.checker.task(name, None if parent is None else parent.agent)
        task = Task(name, agent, threads, first_thread, cta)
        task.steps = body(task)
        self.tasks.append(task)
        return task

    def join(self, task: Task, others: Sequence[Task], site: int) -> Steps:
        """A task continues when others have finished."""
        yield Wait(_JOIN, site, lambda: all(each.is_done for each in others))
        self.checker.join(task.agent, [each.agent for each in others])

    # -- memory ------------------------------------------------------------------------------

    def access(
        self, task: Task, region: ByteRegion, proxy: Proxy, site: int, *, writes: bool
    ) -> None:
        """A task reads or writes."""
        kind = "write" if writes else "read"
        access = self.checker.access(task.agent, kind, region, proxy, site)
        self.checker.takes_effect(access, task.agent)

    # -- memory barriers ---------------------------------------------------------------------

    def init(self, task: Task, barrier: Barrier, site: int) -> None:
        self.barriers[barrier.key] = barrier
        self.checker.init(task.agent, barrier.key, barrier.name, barrier.owner, barrier.count, site)

    def arrive(self, agent: Agent, barrier: Barrier, count: int, site: int) -> None:
        self.checker.arrive(agent, barrier.key, count, site)
        barrier.arrive(count, site)
        self._advance(barrier)

    def expect(self, task: Task, barrier: Barrier, size_bytes: int, site: int) -> None:
        """Expect-tx and arrive."""
        self.checker.expect(task.agent, barrier.key, size_bytes, site)
        barrier.tx_count += size_bytes
        self.arrive(task.agent, barrier, 1, site)

    def _advance(self, barrier: Barrier) -> None:
        if barrier.advance():
            self.checker.phase(barrier.key)

    def wait(self, task: Task, barrier: Barrier, parity: int, site: int) -> Steps:
        """Until the phase of a parity has completed."""
        self.checker.waiting(task.agent, barrier.key)
        what = f"the phase of parity {parity & 1} of {barrier.name}"
        yield Wait(what, site, lambda: barrier.has_passed(parity), barrier, parity & 1)
        self.checker.waited(task.agent, barrier.key, parity & 1, site)

    # -- named barriers ----------------------------------------------------------------------

    def come(self, task: Task, named_barrier: NamedBarrier, threads: int, site: int) -> int:
        self.checker.came(
            task.agent, named_barrier, named_barrier.generation + 1, named_barrier.name, site
        )
        return named_barrier.come(task.threads, threads, site)

    def opened(self, task: Task, named_barrier: NamedBarrier, generation: int, site: int) -> Steps:
        yield Wait(
            named_barrier.name,
            site,
            lambda: named_barrier.generation >= generation,
            named_barrier=named_barrier,
        )
        self.checker.went(task.agent, named_barrier, generation)

    # -- operations --------------------------------------------------------------------------

    def issue(
        self,
        task: Task,
        what: str,
        engine: str,
        site: int,
        parts: Sequence[AliasRange],
        *,
        in_order: bool = False,
        delivers: Sequence[tuple[Barrier, int]] = (),
        arrives: Sequence[tuple[Barrier, int]] = (),
        after: Sequence[Operation] = (),
    ) -> Operation:
        """An operation is issued; its accesses count from here on."""
        checker = self.checker
        named_barriers = tuple(barrier.key for barrier, _ in (*delivers, *arrives))
        agent = checker.issue(task.agent, what, engine, in_order, named_barriers)
        iteration = checker.visit(task.agent.name, site, "issue")
        accesses: list[tuple[Access, bool]] = []
        for part in parts:
            kind = "write" if part.writes else "read"
            access = checker.access(agent, kind, part.region, part.proxy, site, iteration)
            accesses.append((access, part.also_reads))
        made = Operation(
            agent, engine, task.cta, in_order, site, accesses, delivers, arrives, after
        )
        self._queue.append(made)
        self._issued.append(made)
        return made

    def _complete(self, operation: Operation) -> None:
        checker, agent = self.checker, operation.agent
        for each in operation.after:
            if not each.is_done:
                self._complete(each)
        self._queue.remove(operation)
        checker.join(agent, [each.agent for each in operation.after])
        for access, also_reads in operation.accesses:
            if access.kind == "read" or also_reads:
                checker.takes_effect(replace(access, kind="read"), agent)
        for access, _ in operation.accesses:
            if access.kind == "write":
                checker.takes_effect(access, agent)
        for barrier, size in operation.delivers:
            checker.deliver(agent, barrier.key, size, operation.site)
            barrier.tx_count -= size
            self._advance(barrier)
        for barrier, count in operation.arrives:
            self.arrive(agent, barrier, count, operation.site)
        operation.is_done = True

    def groups(self, task: Task, kind: GroupKind) -> list[list[Operation]]:
        return task.groups.setdefault(kind, [])

    def wait_groups(self, task: Task, kind: GroupKind, leave: int, site: int) -> Steps:
        """Until at most `leave` groups of a task are in flight."""
        groups = self.groups(task, kind)
        covered = groups[: max(len(groups) - leave, 0)]
        done = [operation for group in covered for operation in group]
        yield Wait(_GROUP_NAMES[kind], site, lambda: all(each.is_done for each in done))
        del groups[: len(covered)]
        for each in done:
            each.is_waited_for = True
        self.checker.join(task.agent, [each.agent for each in done])

    def wait_for(self, task: Task, operation: Operation, site: int) -> Steps:
        """Until one operation completes."""
        yield Wait("an operation", site, lambda: operation.is_done)
        self.checker.join(task.agent, [operation.agent])

    def used(self, task: Task, operation: Operation, site: int) -> None:
        """A task uses the result of an operation, which it must have waited for."""
        if operation.is_waited_for:
            return
        what = operation.agent.operation
        fix = Remark("use the value that tlx.async_dot_wait returns", site)
        cause = Cause("wait", f"{task.name} does not wait for {what} to complete", fix)
        message = f"{TITLES['wait']}: the result of {what} is used before it is available"
        self.direct.setdefault(site, Finding(message, site, cause))

    def leave(self, task: Task) -> None:
        """A CTA exits: no operation in flight may access its memory any more.

        `cp.async` and `wgmma` complete with their threads; TMA and `tcgen05` do not.
        """
        seen = task.agent.clocks.seen
        for operation in self._issued:
            if operation.engine.startswith(_OF_THREADS) or operation.cta != task.cta:
                continue
            for access, _ in operation.accesses:
                if covers(seen, access.component, access.time):
                    continue
                what, site = operation.agent.operation, operation.site
                missing = f"the CTA does not wait for {what} before it exits"
                cause = Cause(
                    "wait", missing, Remark("wait for it before the end of the kernel", site)
                )
                message = (
                    f"{TITLES['wait']}: the CTA may exit while {what} still {access.kind}s "
                    f"{access.region.name}"
                )
                self.direct.setdefault(site, Finding(message, site, cause))

    # -- runs --------------------------------------------------------------------------------

    def run(self, schedule: Schedule) -> Finding | None:
        """Run to the end; a finding if the tasks deadlock."""
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
                return self._deadlock(tasks)

    def _completable(self) -> list[Operation]:
        """Operations that may complete now: of a unit that executes in order, the oldest."""
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

    def _deadlock(self, tasks: Sequence[Task]) -> Finding:
        """Why all tasks wait."""
        on_barriers = [
            (task.agent, task.wait.barrier.key, task.wait.parity, task.wait.site)
            for task in tasks
            if task.wait is not None and task.wait.barrier is not None
        ]
        named_barriers = [
            BlockedNamedBarrier(
                task.name,
                task.wait.named_barrier.name,
                task.wait.named_barrier.missing(),
                task.wait.site,
            )
            for task in tasks
            if task.wait is not None and task.wait.named_barrier is not None
        ]
        found = self.checker.deadlock(on_barriers, named_barriers)
        if found is not None:
            return found
        blocked = next(task for task in tasks if task.wait is not None)
        assert blocked.wait is not None
        missing = f"{blocked.name} waits forever for {blocked.wait.what}"
        fix = Remark("make the tasks that it waits for finish", blocked.wait.site)
        cause = Cause("arrive", missing, fix)
        return Finding(
            f"{TITLES['arrive']}: {blocked.name} waits forever", blocked.wait.site, cause
        )


_JOIN = "the end of tasks"
