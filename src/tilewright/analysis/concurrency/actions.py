"""What tasks and operations do to barriers, units and groups: the event, and the change of state.

An event comes just before its effect; the phase that an arrival or a delivery completes comes right
after. Misuse of a barrier is raised as `BarrierMisuse` and leaves the barrier as it was.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Generic, TypeVar

from tilewright.analysis.concurrency.engine import Operation
from tilewright.analysis.concurrency.events import BarrierT, GroupKind, RegionT, SyncEvents
from tilewright.analysis.concurrency.groups import Groups
from tilewright.analysis.concurrency.named_barrier import NamedBarrier
from tilewright.analysis.concurrency.scheduler import Machine
from tilewright.analysis.concurrency.tasks import Steps, Task, Wait

OperationT = TypeVar("OperationT", bound=Operation)


class Actions(Generic[RegionT, BarrierT, OperationT]):
    """Actions on barriers, units and groups, and the receiver of their events."""

    def __init__(self, events: SyncEvents[RegionT, BarrierT, OperationT]) -> None:
        self.events = events
        self._groups: dict[tuple[Task, GroupKind], Groups[OperationT]] = {}

    # -- memory barriers ---------------------------------------------------------------------

    def arrive(self, actor: Task | OperationT, barrier: BarrierT, count: int, site: int) -> None:
        """`count` arrivals."""
        self.events.arrive(actor, barrier, count, site)
        self._phase(barrier, barrier.arrive(count))

    def arrive_expect_tx(self, task: Task, barrier: BarrierT, size_bytes: int, site: int) -> None:
        """Expect-tx and one arrival."""
        self.events.expect(task, barrier, size_bytes, site)
        self.events.arrive(task, barrier, 1, site)
        self._phase(barrier, barrier.arrive_expect_tx(size_bytes))

    def complete_tx(
        self, operation: OperationT, barrier: BarrierT, size_bytes: int, site: int
    ) -> None:
        """An operation delivers bytes."""
        self.events.deliver(operation, barrier, size_bytes, site)
        self._phase(barrier, barrier.complete_tx(size_bytes))

    def _phase(self, barrier: BarrierT, completes: bool) -> None:
        if completes:
            self.events.phase(barrier, barrier.phase - 1)

    def wait(self, task: Task, barrier: BarrierT, parity: int, site: int) -> Steps:
        """Wait until the phase of a parity has completed."""
        self.events.waiting(task, barrier, parity, site)
        yield Wait(
            f"the phase of parity {parity} of {barrier.name} to complete",
            lambda: barrier.has_passed(parity),
            barrier.missing,
            barrier,
            site,
            parity,
        )
        self.events.waited(task, barrier, parity, site)

    # -- asynchronous operations -------------------------------------------------------------

    def issue(self, machine: Machine, operation: OperationT) -> None:
        """An operation of a unit is in flight."""
        self.events.issue(operation)
        operation.completed = lambda: self.events.complete(operation)
        machine.issue(operation.engine, operation, operation.in_order)

    def groups(self, task: Task, kind: GroupKind) -> Groups[OperationT]:
        """The groups of a task."""
        return self._groups.setdefault((task, kind), Groups())

    def commit(self, task: Task, kind: GroupKind, site: int) -> None:
        """A task closes a group."""
        self.groups(task, kind).commit()
        self.events.commit(task, kind, site)

    def commit_alone(self, task: Task, kind: GroupKind, operation: OperationT, site: int) -> None:
        """An operation that was issued is a group of its own."""
        self.groups(task, kind).issue(operation)
        self.commit(task, kind, site)

    def wait_groups(
        self, task: Task, kind: GroupKind, leave: int, site: int
    ) -> Generator[Wait | None, None, list[OperationT]]:
        """Wait until at most `leave` groups of a task are in flight; what the others consist of."""
        groups = self.groups(task, kind)
        what = f"all but {leave} {kind} groups" if leave else f"all {kind} groups"
        yield groups.wait(leave, what, site)
        done = groups.forget(leave)
        self.events.waited_group(task, kind, done, site)
        return done

    # -- barriers of threads -----------------------------------------------------------------

    def arrive_named(self, task: Task, barrier: NamedBarrier, threads: int, site: int) -> int:
        """The threads of a task arrive; the generation that they may wait for."""
        self.events.named(task, barrier, barrier.generation + 1, site)
        return barrier.arrive(task.threads, threads)

    def wait_named(self, task: Task, barrier: NamedBarrier, generation: int, site: int) -> Steps:
        """Wait until a generation has opened."""
        what = f"{barrier.threads} thread{'s' if barrier.threads != 1 else ''} at {barrier.name}"
        yield Wait(what, lambda: barrier.has_opened(generation), barrier.missing, barrier, site)
        self.events.named_waited(task, barrier, generation, site)
