"""Asynchronous units: operations that were issued and are in flight.

A unit that executes *in order* (a tensor core, a store queue) completes its oldest operation first;
others (TMA) complete in any order, each operation at any time after it was issued. The effect of an
operation is atomic at its completion: nothing it writes can be relied on before, and nothing it
reads may change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tilewright.analysis.concurrency.mbarrier import MBarrier
from tilewright.analysis.concurrency.tasks import Task


@dataclass(eq=False)
class Operation:
    """An operation in flight."""

    what: str
    """Human-readable: `copy A -> A_shared`."""
    finish: Callable[[], None]
    site: object = None
    """The site of its issue."""
    task: str = ""
    """The task that issued it."""
    fix: Callable[[], str] = lambda: "wait for the operation before this"
    """What to do about an access that does not wait for it, evaluated at that access."""
    is_done: bool = False
    order: int = 0
    """How many operations of the run were issued before."""
    engine: str = ""
    in_order: bool = False
    """Whether its unit completes operations in the order they were issued."""
    issuer: Task | None = None
    barriers: Sequence[MBarrier] = ()
    """The barriers it reports to."""
    completed: Callable[[], None] = lambda: None
    """Called when it is done."""

    def complete(self) -> None:
        """Perform its effect; once."""
        if self.is_done:
            return
        self.is_done = True
        self.finish()
        self.completed()


@dataclass(eq=False)
class Engine:
    """An asynchronous unit."""

    name: str
    in_order: bool = False
    pending: list[Operation] = field(default_factory=list[Operation])

    def issue(self, operation: Operation) -> None:
        self.pending.append(operation)

    def candidates(self) -> list[Operation]:
        """Operations that may complete next."""
        self.pending = [each for each in self.pending if not each.is_done]
        return self.pending[:1] if self.in_order else list(self.pending)

    def drain(self) -> None:
        """Complete everything, oldest first."""
        for operation in self.pending:
            operation.complete()
        self.pending.clear()
