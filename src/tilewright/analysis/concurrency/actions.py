"""What tasks and operations do to barriers: the event, and the change of state.

An event comes just before its effect; the phase that an arrival or a delivery completes comes right
after. Misuse of a barrier is raised as `BarrierMisuse` and leaves the barrier as it was.
"""

from __future__ import annotations

from typing import Generic

from tilewright.analysis.concurrency.events import BarrierT, OperationT, RegionT, SyncEvents
from tilewright.analysis.concurrency.named_barrier import NamedBarrier
from tilewright.analysis.concurrency.tasks import Steps, Task, Wait


class Actions(Generic[RegionT, BarrierT, OperationT]):
    """Actions on barriers, and the receiver of their events."""

    def __init__(self, events: SyncEvents[RegionT, BarrierT, OperationT]) -> None:
        self.events = events

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

    def arrive_named(self, task: Task, barrier: NamedBarrier, threads: int, site: int) -> int:
        """The threads of a task arrive; the generation that they may wait for."""
        self.events.named(task, barrier, barrier.generation + 1, site)
        return barrier.arrive(task.threads, threads)

    def wait_named(self, task: Task, barrier: NamedBarrier, generation: int, site: int) -> Steps:
        """Wait until a generation has opened."""
        what = f"{barrier.threads} thread{'s' if barrier.threads != 1 else ''} at {barrier.name}"
        yield Wait(what, lambda: barrier.has_opened(generation), barrier.missing, barrier, site)
        self.events.named_waited(task, barrier, generation, site)
