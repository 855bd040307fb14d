"""Tasks, barriers and asynchronous units without data, which drive the ordering checker.

Tasks run on the concurrency core (`analysis.concurrency`): generators that yield wherever other
tasks may run. An operation is issued by a task and completes when the schedule chooses it; only
then does it signal its barriers. The order hardly matters: the checker compares what barriers
order, not what came first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from tilewright.analysis import concurrency
from tilewright.analysis.concurrency import (
    Actions,
    BarrierMisuse,
    Deadlock,
    GroupKind,
    Groups,
    KeyedBarrier,
    NamedBarrier,
    Proxy,
    Schedule,
    Steps,
    Task,
    Wait,
)
from tilewright.analysis.ordering import (
    TITLES,
    ByteRegion,
    Cause,
    Checker,
    CheckerEvents,
    Finding,
    PossibleSignal,
    Remark,
)
from tilewright.analysis.ordering.clocks import covers
from tilewright.analysis.ordering.events import Part

_OF_THREADS = ("cp.async", "wgmma")
STEP_LIMIT = 10_000
"""Steps of all tasks in one run."""


class Misuse(Exception):
    """Something is used in a way that the hardware does not define."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.message)
        self.finding = finding


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

    cta: int = 0
    parts: Sequence[AliasRange] = ()
    """The accessed bytes."""
    is_waited_for: bool = False
    """Whether its issuer has waited for it."""


class Machine:
    """One run of the CTAs of a cluster."""

    def __init__(
        self, signals: Callable[[str], Sequence[PossibleSignal]], schedule: Schedule | None = None
    ) -> None:
        self.checker = Checker(signals)
        self.events: CheckerEvents[ByteRegion] = CheckerEvents(self.checker)
        self._actions: Actions[ByteRegion, KeyedBarrier, Operation] = Actions(self.events)
        self.barriers: dict[Hashable, KeyedBarrier] = {}
        self.named_barriers: dict[Hashable, NamedBarrier] = {}
        self.direct: dict[int, Finding] = {}
        """By site, findings that hold for every order of events."""
        self._scheduler = concurrency.Machine(schedule=schedule, step_limit=STEP_LIMIT)
        self._issued: list[Operation] = []

    # -- tasks -------------------------------------------------------------------------------

    @property
    def tasks(self) -> list[Task]:
        return self._scheduler.tasks

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
        self.events.spawn(task, parent)
        return task

    def join(self, task: Task, others: Sequence[Task], site: int) -> Steps:
        """A task continues when others have finished."""
        yield Wait("the end of tasks", lambda: all(each.is_over for each in others), site=site)
        self.events.join(task, others)

    # -- memory barriers ---------------------------------------------------------------------

    def init(self, task: Task, barrier: KeyedBarrier, site: int) -> None:
        self.barriers[barrier.key] = barrier
        self.events.init(task, barrier, site)

    def arrive(self, actor: Task | Operation, barrier: KeyedBarrier, count: int, site: int) -> None:
        try:
            self._actions.arrive(actor, barrier, count, site)
        except BarrierMisuse:
            raise _too_many_arrivals(barrier, count, site) from None

    def expect(self, task: Task, barrier: KeyedBarrier, size_bytes: int, site: int) -> None:
        """Expect-tx and arrive."""
        try:
            self._actions.arrive_expect_tx(task, barrier, size_bytes, site)
        except BarrierMisuse:
            raise _too_many_arrivals(barrier, 1, site) from None

    def wait(self, task: Task, barrier: KeyedBarrier, parity: int, site: int) -> Steps:
        """Until the phase of a parity has completed."""
        return self._actions.wait(task, barrier, parity & 1, site)

    # -- named barriers ----------------------------------------------------------------------

    def arrive_named(self, task: Task, barrier: NamedBarrier, threads: int, site: int) -> int:
        """A task arrives; the generation that it may wait for."""
        try:
            return self._actions.arrive_named(task, barrier, threads, site)
        except BarrierMisuse:
            missing = (
                f"{barrier.arrived + task.threads} threads arrive on {barrier.name} with thread "
                f"count {threads}, expected {barrier.threads or threads}"
            )
            fix = Remark("pass the count of threads that arrive on it", site)
            cause = Cause("count", missing, fix, barrier.name)
            raise Misuse(Finding(f"{TITLES['count']}: {missing}", site, cause)) from None

    def wait_named(self, task: Task, barrier: NamedBarrier, generation: int, site: int) -> Steps:
        return self._actions.wait_named(task, barrier, generation, site)

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
        delivers: Sequence[tuple[KeyedBarrier, int]] = (),
        arrives: Sequence[tuple[KeyedBarrier, int]] = (),
        after: Sequence[Operation] = (),
    ) -> Operation:
        """An operation is issued; its accesses count from here on.

        Operations that it is `after` complete first.
        """

        def finish() -> None:
            for each in after:
                each.complete()
            self._take_effect(operation, site)
            for barrier, size in delivers:
                self._actions.complete_tx(operation, barrier, size, site)
            for barrier, count in arrives:
                self.arrive(operation, barrier, count, site)

        operation = Operation(
            what,
            finish,
            site,
            engine=engine,
            in_order=in_order,
            issuer=task,
            barriers=[barrier for barrier, _ in (*delivers, *arrives)],
            cta=_cta(task),
            parts=parts,
        )
        accesses: list[Part] = [
            ("write" if part.writes else "read", part.region, part.proxy) for part in parts
        ]
        self.events.issued(operation, site, list(enumerate(accesses)))
        self._scheduler.issue(engine, operation, in_order)
        self._issued.append(operation)
        return operation

    def _take_effect(self, operation: Operation, site: int) -> None:
        for key, part in enumerate(operation.parts):
            if part.also_reads or not part.writes:
                self.events.accessed(operation, "read", part.region, part.proxy, site, key)
        for key, part in enumerate(operation.parts):
            if part.writes:
                self.events.accessed(operation, "write", part.region, part.proxy, site, key)

    def groups(self, task: Task, kind: GroupKind) -> Groups[Operation]:
        return self._actions.groups(task, kind)

    def wait_groups(self, task: Task, kind: GroupKind, leave: int, site: int) -> Steps:
        """Until at most `leave` groups of a task are in flight."""
        for each in (yield from self._actions.wait_groups(task, kind, leave, site)):
            each.is_waited_for = True

    def wait_for(self, task: Task, operation: Operation, site: int) -> Steps:
        """Until one operation completes."""
        yield Wait("an operation", lambda: operation.is_done, site=site)
        operation.is_waited_for = True
        self.events.waited_group(task, "wgmma", [operation], site)

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
        seen = self.events.agent(task).clocks.seen
        for operation in self._issued:
            if operation.engine.startswith(_OF_THREADS) or operation.cta != _cta(task):
                continue
            agent = self.events.agent(operation)
            if not operation.parts or covers(seen, agent.component, agent.time):
                continue
            part, what, site = operation.parts[0], operation.what, _site(operation.site)
            missing = f"the CTA does not wait for {what} before it exits"
            fix = Remark("wait for it before the end of the kernel", site)
            doing = "writes" if part.writes else "reads"
            message = (
                f"{TITLES['wait']}: the CTA may exit while {what} still {doing} {part.region.name}"
            )
            self.direct.setdefault(site, Finding(message, site, Cause("wait", missing, fix)))

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
        found = self.events.deadlock(deadlock)
        if found is not None:
            return found
        first = deadlock.blocked[0]
        site = _site(first.wait.site)
        fix = Remark("make the tasks that it waits for finish", site)
        cause = Cause("arrive", f"{first.task} waits forever for {first.wait.what}", fix)
        return Finding(f"{TITLES['arrive']}: {first.task} waits forever", site, cause)


def _too_many_arrivals(barrier: KeyedBarrier, arrivals: int, site: int) -> Misuse:
    count = barrier.arrived + arrivals
    came = f"{count} arrivals on {barrier.name} in phase {barrier.phase}"
    fix = Remark(f"arrive less often, or use arrive_count={count}", site)
    missing = f"{barrier.name} is initialised with arrive count {barrier.count}"
    cause = Cause("count", missing, fix, barrier.owner)
    return Misuse(Finding(f"{TITLES['count']}: {came}, one of them here", site, cause))


def _cta(task: Task) -> int:
    assert isinstance(task.context, int), "tasks are spawned with their CTA"
    return task.context


def _site(site: object) -> int:
    assert isinstance(site, int), "sites of this machine are positions of ops"
    return site
