"""Tasks, barriers and asynchronous units without data, which drive the ordering checker.

Tasks run on the concurrency core (`analysis.concurrency`): generators that yield wherever other
tasks may run. An operation is issued by a task and completes when the schedule chooses it; only
then does it signal its barriers. The order hardly matters: the checker compares what barriers
order, not what came first.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

from tilewright.analysis import concurrency
from tilewright.analysis.concurrency import (
    BarrierMisuse,
    Deadlock,
    Groups,
    MBarrier,
    NamedBarrier,
    Schedule,
    Steps,
    Task,
    Wait,
)
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


@dataclass(eq=False)
class Barrier(MBarrier):
    """A memory barrier, identified by its bytes."""

    key: Hashable = None
    owner: str = ""


@dataclass(frozen=True)
class AliasRange:
    """Bytes that an operation accesses."""

    region: ByteRegion
    proxy: Proxy
    writes: bool = False
    also_reads: bool = False
    """The write accumulates."""


@dataclass(eq=False)
class Operation(concurrency.Operation):
    """An asynchronous operation."""

    agent: Agent = field(kw_only=True)
    engine: str = ""
    cta: int = 0
    accesses: list[tuple[Access, bool]] = field(default_factory=list[tuple[Access, bool]])
    """The accessed bytes, and whether a write accumulates."""
    is_waited_for: bool = False
    """Whether its issuer has waited for it."""


class Machine:
    """One run of the CTAs of a cluster."""

    def __init__(
        self, signals: Callable[[str], Sequence[PossibleSignal]], schedule: Schedule | None = None
    ) -> None:
        self.checker = Checker(signals)
        self.barriers: dict[Hashable, Barrier] = {}
        self.named_barriers: dict[Hashable, NamedBarrier] = {}
        self.direct: dict[int, Finding] = {}
        """By site, findings that hold for every order of events."""
        self._scheduler = concurrency.Machine(schedule=schedule, step_limit=STEP_LIMIT)
        self._agents: dict[Task, Agent] = {}
        self._groups: dict[tuple[Task, GroupKind], Groups[Operation]] = {}
        self._issued: list[Operation] = []

    # -- tasks -------------------------------------------------------------------------------

    @property
    def tasks(self) -> list[Task]:
        return self._scheduler.tasks

    def agent(self, task: Task) -> Agent:
        """The agent of a task in the checker."""
        return self._agents[task]

    def spawn(
        self,
        name: str,
        threads: int,
        body: Callable[[Task], Steps],
        parent: Task | None = None,
        *,
        cta: int = 0,
    ) -> Task:
        """A task starts."""

        def steps() -> Steps:
            yield from body(task)

        task = self._scheduler.spawn(name, steps(), threads, context=cta)
        above = None if parent is None else self._agents[parent]
        self._agents[task] = self.checker.task(name, above)
        return task

    def join(self, task: Task, others: Sequence[Task], site: int) -> Steps:
        """A task continues when others have finished."""
        yield Wait("the end of tasks", lambda: all(each.is_over for each in others), site=site)
        self.checker.join(self._agents[task], [self._agents[each] for each in others])

    # -- memory ------------------------------------------------------------------------------

    def access(
        self, task: Task, region: ByteRegion, proxy: Proxy, site: int, *, writes: bool
    ) -> None:
        """A task reads or writes."""
        kind, agent = "write" if writes else "read", self._agents[task]
        access = self.checker.access(agent, kind, region, proxy, site)
        self.checker.takes_effect(access, agent)

    def fence(self, task: Task) -> None:
        self.checker.fence(self._agents[task])

    # -- memory barriers ---------------------------------------------------------------------

    def init(self, task: Task, barrier: Barrier, site: int) -> None:
        self.barriers[barrier.key] = barrier
        agent = self._agents[task]
        self.checker.init(agent, barrier.key, barrier.name, barrier.owner, barrier.count, site)

    def arrive(self, task: Task, barrier: Barrier, count: int, site: int) -> None:
        self._arrive(self._agents[task], barrier, count, site)

    def _arrive(self, agent: Agent, barrier: Barrier, count: int, site: int) -> None:
        self.checker.arrive(agent, barrier.key, count, site)
        self._signal(barrier, count, site, lambda: barrier.arrive(count))

    def expect(self, task: Task, barrier: Barrier, size_bytes: int, site: int) -> None:
        """Expect-tx and arrive."""
        agent = self._agents[task]
        self.checker.expect(agent, barrier.key, size_bytes, site)
        self.checker.arrive(agent, barrier.key, 1, site)
        self._signal(barrier, 1, site, lambda: barrier.arrive_expect_tx(size_bytes))

    def _deliver(self, agent: Agent, barrier: Barrier, size_bytes: int, site: int) -> None:
        self.checker.deliver(agent, barrier.key, size_bytes, site)
        self._signal(barrier, 0, site, lambda: barrier.complete_tx(size_bytes))

    def _signal(
        self, barrier: Barrier, arrivals: int, site: int, change: Callable[[], bool]
    ) -> None:
        try:
            completes = change()
        except BarrierMisuse:
            count = barrier.arrived + arrivals
            came = f"{count} arrivals on {barrier.name} in phase {barrier.phase}"
            fix = Remark(f"arrive less often, or use arrive_count={count}", site)
            missing = f"{barrier.name} is initialised with arrive count {barrier.count}"
            cause = Cause("count", missing, fix, barrier.owner)
            raise Misuse(
                Finding(f"{TITLES['count']}: {came}, one of them here", site, cause)
            ) from None
        if completes:
            self.checker.phase(barrier.key)

    def wait(self, task: Task, barrier: Barrier, parity: int, site: int) -> Steps:
        """Until the phase of a parity has completed."""
        agent, required = self._agents[task], parity & 1
        self.checker.waiting(agent, barrier.key)
        yield Wait(
            f"the phase of parity {required} of {barrier.name}",
            lambda: barrier.has_passed(required),
            barrier.missing,
            barrier,
            site,
            required,
        )
        self.checker.waited(agent, barrier.key, required, site)

    # -- named barriers ----------------------------------------------------------------------

    def arrive_named(self, task: Task, barrier: NamedBarrier, threads: int, site: int) -> int:
        """A task arrives; the generation that it may wait for."""
        agent = self._agents[task]
        self.checker.came(agent, barrier, barrier.generation + 1, barrier.name, site)
        try:
            return barrier.arrive(task.threads, threads)
        except BarrierMisuse:
            missing = (
                f"{barrier.arrived + task.threads} threads arrive on {barrier.name} with thread "
                f"count {threads}, expected {barrier.threads or threads}"
            )
            fix = Remark("pass the count of threads that arrive on it", site)
            cause = Cause("count", missing, fix, barrier.name)
            raise Misuse(Finding(f"{TITLES['count']}: {missing}", site, cause)) from None

    def wait_named(self, task: Task, barrier: NamedBarrier, generation: int, site: int) -> Steps:
        yield Wait(
            barrier.name, lambda: barrier.has_opened(generation), barrier.missing, barrier, site
        )
        self.checker.went(self._agents[task], barrier, generation)

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
        """An operation is issued; its accesses count from here on.

        Operations that it is `after` complete first.
        """
        checker, issuer = self.checker, self._agents[task]
        barriers = tuple(barrier.key for barrier, _ in (*delivers, *arrives))
        agent = checker.issue(issuer, what, engine, in_order, barriers)

        def finish() -> None:
            for each in after:
                each.complete()
            checker.join(agent, [each.agent for each in after])
            self._take_effect(operation)
            for barrier, size in delivers:
                self._deliver(agent, barrier, size, site)
            for barrier, count in arrives:
                self._arrive(agent, barrier, count, site)

        operation = Operation(what, finish, site, agent=agent, engine=engine, cta=_cta(task))
        iteration = checker.visit(issuer.name, site, "issue")
        for part in parts:
            kind = "write" if part.writes else "read"
            access = checker.access(agent, kind, part.region, part.proxy, site, iteration)
            operation.accesses.append((access, part.also_reads))
        self._scheduler.issue(engine, operation, in_order)
        self._issued.append(operation)
        return operation

    def _take_effect(self, operation: Operation) -> None:
        checker, agent = self.checker, operation.agent
        for access, also_reads in operation.accesses:
            if access.kind == "read" or also_reads:
                checker.takes_effect(replace(access, kind="read"), agent)
        for access, _ in operation.accesses:
            if access.kind == "write":
                checker.takes_effect(access, agent)

    def groups(self, task: Task, kind: GroupKind) -> Groups[Operation]:
        return self._groups.setdefault((task, kind), Groups())

    def wait_groups(self, task: Task, kind: GroupKind, leave: int, site: int) -> Steps:
        """Until at most `leave` groups of a task are in flight."""
        groups = self.groups(task, kind)
        yield Wait(_GROUP_NAMES[kind], lambda: groups.is_done(leave), site=site)
        done = groups.forget(leave)
        for each in done:
            each.is_waited_for = True
        self.checker.join(self._agents[task], [each.agent for each in done])

    def wait_for(self, task: Task, operation: Operation, site: int) -> Generator[Wait, None, None]:
        """Until one operation completes."""
        yield Wait("an operation", lambda: operation.is_done, site=site)
        self.checker.join(self._agents[task], [operation.agent])

    def used(self, task: Task, operation: Operation, site: int) -> None:
        """A task uses the result of an operation, which it must have waited for."""
        if operation.is_waited_for:
            return
        what = operation.what
        fix = Remark("use the value that tlx.async_dot_wait returns", site)
        cause = Cause("wait", f"{task.name} does not wait for {what} to complete", fix)
        message = f"{TITLES['wait']}: the result of {what} is used before it is available"
        self.direct.setdefault(site, Finding(message, site, cause))

    def leave(self, task: Task) -> None:
        """A CTA exits: no operation in flight may access its memory any more.

        `cp.async` and `wgmma` complete with their threads; TMA and `tcgen05` do not.
        """
        seen = self._agents[task].clocks.seen
        for operation in self._issued:
            if operation.engine.startswith(_OF_THREADS) or operation.cta != _cta(task):
                continue
            for access, _ in operation.accesses:
                if covers(seen, access.component, access.time):
                    continue
                what, site = operation.what, access.site
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

    def run(self) -> Finding | None:
        """Run to the end; a finding if the tasks deadlock.

        Raises:
            TooManySteps: if the tasks do not finish in `STEP_LIMIT` steps.
        """
        try:
            self._scheduler.run_tasks()
        except Deadlock as deadlock:
            return self._deadlock(deadlock)
        return None

    def _deadlock(self, deadlock: Deadlock) -> Finding:
        """Why all tasks wait."""
        waits = [(each.waiting, each.wait, _site(each.wait)) for each in deadlock.blocked]
        found = self.checker.deadlock(
            [
                (self._agents[task], wait.subject.key, wait.parity, site)
                for task, wait, site in waits
                if isinstance(wait.subject, Barrier)
            ],
            [
                BlockedNamedBarrier(task.name, wait.subject.name, wait.subject.missing(), site)
                for task, wait, site in waits
                if isinstance(wait.subject, NamedBarrier)
            ],
        )
        if found is not None:
            return found
        task, wait, site = waits[0]
        fix = Remark("make the tasks that it waits for finish", site)
        cause = Cause("arrive", f"{task.name} waits forever for {wait.what}", fix)
        return Finding(f"{TITLES['arrive']}: {task.name} waits forever", site, cause)


def _cta(task: Task) -> int:
    assert isinstance(task.context, int), "tasks are spawned with their CTA"
    return task.context


def _site(wait: Wait) -> int:
    assert isinstance(wait.site, int), "sites of this machine are positions of ops"
    return wait.site
