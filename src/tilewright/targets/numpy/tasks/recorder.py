"""The observer of a run of tasks: one object receives every event.

The runtime calls a `Recorder` for each access to shared or tensor memory, each arrival and wait,
each asynchronous operation. The default does nothing. A checker of orderings derives from it and
keeps its clocks; a timeline keeps the events. Events come in the order in which they happen.

The events of synchronisation are those of the concurrency core, `SyncEvents`, with views for
regions; what is added here is about launches, buffers and faults.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from tilewright.analysis.concurrency import SyncEvents
from tilewright.targets.numpy.tasks.support.arena import View
from tilewright.targets.numpy.tasks.support.barriers import Barrier
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation

if TYPE_CHECKING:
    from tilewright.analysis.concurrency import Deadlock, Task
    from tilewright.ir.diagnostics import SourceManager
    from tilewright.targets.numpy.api import NumpyFault
    from tilewright.targets.numpy.tasks.faults import TaskFault
    from tilewright.targets.numpy.tasks.support.runtime import CtaRuntime

    Actor: TypeAlias = Task | AsyncOperation


class Recorder(SyncEvents[View, Barrier, AsyncOperation]):
    """Receives every event; does nothing."""

    finds_conflicts = False
    """Whether it finds accesses that disturb operations itself: the run then goes on after one."""

    retained: Exception | None = None
    """An uninitialised read, retained by a recorder that may find the cause."""

    @property
    def receiver(self) -> SyncEvents[View, Barrier, AsyncOperation]:
        """What gets the events of synchronisation and accesses: the recorder itself."""
        return self

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

    def is_determined(self) -> None:
        """The launch has ended, and its events have one order: no other schedule is run."""

    def alloc(self, actor: Actor, view: View, source_id: int) -> None:
        """A buffer begins: whatever its bytes hold is of no meaning."""

    def picks(self, view: View, source_id: int) -> None:
        """The next access selects only some elements of the view, by index."""


SILENT = Recorder()
