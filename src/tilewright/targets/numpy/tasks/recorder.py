"""The observer of a run of tasks: one object receives every event.

The runtime calls a `Recorder` for each access to shared or tensor memory, each arrival and wait,
each asynchronous operation. The default does nothing. A checker of orderings derives from it and
keeps its clocks; a timeline keeps the events. Events come in the order in which they happen.

An *actor* is a task, or an asynchronous operation while it finishes: what a copy writes is written
by the copy, not by the task that issued it. Operations of an `in_order` unit are ordered among each
other; others are ordered after their issuer only.

==============================  ==================================================================
event                           orders
==============================  ==================================================================
``spawn``, ``join``             what the parent did before -> the tasks -> what it does after
``issue`` -> ``complete``       what the issuer did before -> what the operation does
``arrive``/``deliver`` ->       what the actor did before -> the tasks that wait for the phase it
``phase`` -> ``waited``         completes
``waited_group``                the operations -> what the task does after
``named`` -> ``named_waited``   all arrivals of one generation -> the tasks that waited for it
``fence``                       accesses of one proxy -> accesses of another
==============================  ==================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from tilewright.analysis.concurrency import Deadlock, NamedBarrier, Task
    from tilewright.ir.diagnostics import SourceManager
    from tilewright.targets.numpy.api import NumpyFault
    from tilewright.targets.numpy.tasks.faults import TaskFault
    from tilewright.targets.numpy.tasks.support.arena import View
    from tilewright.targets.numpy.tasks.support.barriers import Barrier
    from tilewright.targets.numpy.tasks.support.operations import AsyncOperation
    from tilewright.targets.numpy.tasks.support.runtime import CtaRuntime

    Actor: TypeAlias = Task | AsyncOperation

AccessKind: TypeAlias = Literal["read", "write"]
Proxy: TypeAlias = Literal["generic", "async", "tensor"]
"""The path of an access to memory: by threads, by TMA and the shared-memory side of tensor cores,
by the tensor-memory side of tensor cores and its loads and stores."""
GroupKind: TypeAlias = Literal["cp.async", "TMA store", "wgmma", "tensor copy"]
"""What is waited for by counting: cp.async groups, TMA stores, wgmma, AMD's tensor copies."""


class Recorder:
    """Receives every event; does nothing."""

    finds_conflicts = False
    """Whether it finds accesses that disturb operations itself: the run then goes on after one."""

    retained: Exception | None = None
    """An uninitialised read, retained by a recorder that may find the cause."""

    def keep(self, problem: Exception) -> bool:
        """An uninitialised read happens; whether the run continues."""
        return False

    def fault(self, fault: TaskFault, sources: SourceManager | None) -> NumpyFault:
        """The run ends with a fault; what is raised instead."""
        return fault

    def verdict(self, sources: SourceManager | None) -> NumpyFault | None:
        """The CTAs ran to their end; what is raised nevertheless."""
        return None

    def begin(self, ctas: Sequence[CtaRuntime], seed: int) -> None:
        """The CTAs of a cluster start; their memories are empty."""

    def end(self, deadlock: Deadlock | None = None) -> None:
        """They are over, or nothing can happen any more."""

    # -- tasks -------------------------------------------------------------------------------

    def spawn(self, task: Task, parent: Task | None) -> None:
        """A task starts; a CTA's first one has no parent."""

    def join(self, task: Task, others: Sequence[Task]) -> None:
        """`task` goes on after `others` have ended."""

    # -- memory ------------------------------------------------------------------------------

    def alloc(self, actor: Actor, view: View, source_id: int) -> None:
        """A buffer begins: whatever its bytes hold is of no meaning."""

    def access(
        self, actor: Actor, kind: AccessKind, view: View, proxy: Proxy, source_id: int
    ) -> None:
        """Bytes are read or written; `view.cells` finds them in a table of the arena."""

    def picks(self, view: View, source_id: int) -> None:
        """The next access selects only some elements of the view, by index."""

    # -- memory barriers ---------------------------------------------------------------------

    def init(self, actor: Actor, barrier: Barrier, source_id: int) -> None:
        """A barrier is made."""

    def invalidate(self, actor: Actor, barrier: Barrier, source_id: int) -> None:
        """A barrier ends."""

    def arrive(self, actor: Actor, barrier: Barrier, count: int, source_id: int) -> None:
        """`count` arrivals, just before they count."""

    def expect(self, actor: Actor, barrier: Barrier, size_bytes: int, source_id: int) -> None:
        """An expect-tx, just before the arrival that belongs to it."""

    def deliver(
        self, operation: AsyncOperation, barrier: Barrier, size_bytes: int, source_id: int
    ) -> None:
        """An operation has delivered bytes, just before they count."""

    def phase(self, barrier: Barrier, phase: int) -> None:
        """Phase number `phase` (from 0) is complete, by the last arrival or delivery."""

    def waiting(self, task: Task, barrier: Barrier, parity: int, source_id: int) -> None:
        """A task comes to a wait."""

    def waited(self, task: Task, barrier: Barrier, parity: int, source_id: int) -> None:
        """It goes on; `barrier.phase` phases are complete."""

    # -- asynchronous operations -------------------------------------------------------------

    def issue(self, operation: AsyncOperation) -> None:
        """An operation is in flight."""

    def complete(self, operation: AsyncOperation) -> None:
        """It is done; what it did came right before, with the operation as actor."""

    def commit(self, task: Task, kind: GroupKind, source_id: int) -> None:
        """Operations issued since the last time are a group."""

    def waited_group(
        self, task: Task, kind: GroupKind, operations: Sequence[AsyncOperation], source_id: int
    ) -> None:
        """From here on `task` is ordered after the operations."""

    # -- barriers of threads, fences ---------------------------------------------------------

    def named(self, task: Task, barrier: NamedBarrier, generation: int, source_id: int) -> None:
        """Threads come to a named, or the cluster's, barrier; it opens as `generation`."""

    def named_waited(
        self, task: Task, barrier: NamedBarrier, generation: int, source_id: int
    ) -> None:
        """They go on."""

    def fence(self, task: Task, kind: str, source_id: int) -> None:
        """A fence: `async_shared`, `gpu`, `sys` or `mbarrier_init`."""


SILENT = Recorder()
