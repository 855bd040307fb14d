"""Barriers, fences and the waits for them.

A barrier is identified by its bytes: all views of them are the same barrier. Using bytes
that were never initialised, or that have been written over, is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from tilewright.analysis.concurrency import BarrierMisuse, NamedBarrier, Wait
from tilewright.targets.numpy.tasks.support.arena import View
from tilewright.targets.numpy.tasks.support.barriers import Barrier
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation
from tilewright.targets.numpy.tasks.support.state import CtaState
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault, count_text

_NAMED = 16
"""Hardware barriers of a CTA (PTX ISA, `barrier`)."""
_COUNT_NOTE = "every use of a named barrier must pass the same count: the threads that arrive at it"
_PHASE_NOTE = (
    "too many arrivals in one phase: a task arrives twice, does not wait for the previous phase, "
    "or the arrive count of the barrier is too low"
)


class CtaSync(CtaState):
    """The barriers of a CTA."""

    # -- memory barriers ---------------------------------------------------------------------

    def init_barrier(self, view: View, count: int, source_id: int) -> None:
        """Make the bytes a barrier in phase 0."""
        view.require()
        owner = self.cluster.ctas[view.arena.cta]
        try:
            barrier = Barrier(
                view.name,
                count,
                key=(view.arena.cta, view.start),
                owner=view.root.name,
                offset=view.start,
                cta=view.arena.cta,
                root=view.root,
                source_id=source_id,
            )
        except BarrierMisuse as misuse:
            raise RuntimeFault("barrier", str(misuse), (), source_id) from None
        owner.barriers[view.start] = barrier
        self.cluster.events.init(self.cluster.task, barrier, source_id)

    def inval_barrier(self, view: View, source_id: int) -> None:
        """The bytes are no barrier any more."""
        barrier = self._barrier(view, source_id, "invalidation")
        del self.cluster.ctas[view.arena.cta].barriers[view.start]
        self.cluster.events.invalidate(self.cluster.task, barrier, source_id)

    def _barrier(self, view: View, source_id: int, use: str) -> Barrier:
        view.require()
        found = self.cluster.ctas[view.arena.cta].barriers.get(view.start)
        if found is None:
            message = f"uninitialised barrier {view.name}: {use} before its initialisation"
            raise RuntimeFault("barrier", message, view.notes(), source_id)
        return found

    def arrive(self, view: View, count: int, pred: Any, source_id: int, each: bool = False) -> None:
        """Arrive once for all threads of the task, or for `each` of them."""
        if pred:
            times = count * self.cluster.task.threads if each else count
            self.arrived_at(self._barrier(view, source_id, "arrival"), times, source_id)

    def arrived_at(self, barrier: Barrier, count: int, source_id: int) -> None:
        """Count arrivals of the current actor."""
        self.cluster.events.arrive(self.cluster.actor, barrier, count, source_id)
        self._signal(barrier, source_id, lambda: barrier.arrive(count))

    def expect(self, view: View, size_bytes: int, pred: Any, source_id: int) -> None:
        """Expect-tx and arrive."""
        if not pred:
            return
        barrier = self._barrier(view, source_id, "expect-tx")
        events, task = self.cluster.events, self.cluster.task
        events.expect(task, barrier, size_bytes, source_id)
        events.arrive(task, barrier, 1, source_id)
        self._signal(barrier, source_id, lambda: barrier.arrive_expect_tx(size_bytes))

    def barrier_for(self, view: View, source_id: int) -> Barrier:
        """The barrier that an operation reports to, which must be there when it is issued."""
        return self._barrier(view, source_id, "asynchronous operation")

    def deliver(self, barrier: Barrier, size_bytes: int, source_id: int) -> None:
        """The operation that finishes has delivered bytes."""
        operation = self.cluster.acting
        assert operation is not None, "only operations deliver"
        self.cluster.events.deliver(operation, barrier, size_bytes, source_id)
        self._signal(barrier, source_id, lambda: barrier.complete_tx(size_bytes))

    def _signal(self, barrier: Barrier, source_id: int, change: Callable[[], bool]) -> None:
        actor = self.cluster.actor
        name = actor.task if isinstance(actor, AsyncOperation) else actor.name
        barrier.signallers[name] = source_id
        try:
            completes = change()
        except BarrierMisuse as misuse:
            notes = [Note(f"{barrier.name} is initialised here", barrier.source_id), _PHASE_NOTE]
            raise RuntimeFault("barrier", str(misuse), notes, source_id) from None
        if completes:
            self.cluster.events.phase(barrier, barrier.phase - 1)

    def wait(
        self, view: View, parity: Any, pred: Any, source_id: int
    ) -> Generator[Wait | None, None, None]:
        """Wait until the phase of a parity has completed."""
        if not pred:
            return
        barrier = self._barrier(view, source_id, "wait")
        task, events, expected = self.cluster.task, self.cluster.events, int(parity) & 1
        if barrier.cta != self.rank:
            message = f"wait on {barrier.name}, a barrier of another CTA"
            note = "wait on a barrier of this CTA, on which the other CTA arrives"
            raise RuntimeFault("barrier", message, [note], source_id)
        events.waiting(task, barrier, expected, source_id)
        yield Wait(
            f"the phase of parity {expected} of {barrier.name} to complete",
            lambda: barrier.has_passed(expected),
            barrier.missing,
            barrier,
            source_id,
            expected,
        )
        events.waited(task, barrier, expected, source_id)

    # -- named barriers ----------------------------------------------------------------------

    def named_arrive(self, barrier_id: Any, threads: Any, source_id: int) -> None:
        """Arrive at a named barrier without waiting."""
        self._arrive_at(self._named_barrier(barrier_id, source_id), int(threads), source_id)

    def named_wait(
        self, barrier_id: Any, threads: Any, source_id: int
    ) -> Generator[Wait | None, None, None]:
        """Arrive at a named barrier and wait."""
        yield from self._sync(self._named_barrier(barrier_id, source_id), int(threads), source_id)

    def cluster_arrive(self, source_id: int) -> None:
        self.cluster_generation = self._arrive_at(
            self.cluster.barrier, self._cluster_threads, source_id
        )

    def cluster_wait(self, source_id: int) -> Generator[Wait | None, None, None]:
        yield from self._await(self.cluster.barrier, self.cluster_generation, source_id)

    def cluster_sync(self, source_id: int) -> Generator[Wait | None, None, None]:
        yield from self._sync(self.cluster.barrier, self._cluster_threads, source_id)

    @property
    def _cluster_threads(self) -> int:
        return self.cluster.task.threads * len(self.cluster.ctas)

    def _named_barrier(self, barrier_id: Any, source_id: int) -> NamedBarrier:
        index = int(barrier_id)
        if not 0 <= index < _NAMED:
            message = f"invalid barrier id {index}: ids are 0 to {_NAMED - 1}"
            raise RuntimeFault("barrier", message, (), source_id)
        return self.named_barriers.setdefault(index, NamedBarrier(f"barrier {index}"))

    def _arrive_at(self, barrier: NamedBarrier, threads: int, source_id: int) -> int:
        task = self.cluster.task
        self.cluster.events.named(task, barrier, barrier.generation + 1, source_id)
        try:
            return barrier.arrive(task.threads, threads)
        except BarrierMisuse as misuse:
            raise RuntimeFault("barrier", str(misuse), [_COUNT_NOTE], source_id) from None

    def _sync(
        self, barrier: NamedBarrier, threads: int, source_id: int
    ) -> Generator[Wait | None, None, None]:
        yield from self._await(barrier, self._arrive_at(barrier, threads, source_id), source_id)

    def _await(
        self, barrier: NamedBarrier, generation: int, source_id: int
    ) -> Generator[Wait | None, None, None]:
        task = self.cluster.task
        what = f"{count_text(barrier.threads, 'thread')} at {barrier.name}"
        yield Wait(
            what, lambda: barrier.has_opened(generation), barrier.missing, barrier, source_id
        )
        self.cluster.events.named_waited(task, barrier, generation, source_id)

    def fence(self, kind: str, source_id: int) -> None:
        self.cluster.events.fence(self.cluster.task, kind, source_id)
