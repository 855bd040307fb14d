"""Asynchronous operations of a CTA: their description, issuer and pending accesses."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.analysis.concurrency import Operation, Task
from tilewright.targets.numpy.tasks.support.arena import Held
from tilewright.targets.numpy.tasks.support.barriers import Barrier


@dataclass(eq=False)
class AsyncOperation(Operation):
    """An operation in flight."""

    engine: str = ""
    in_order: bool = False
    """Whether its engine finishes operations in the order they were issued."""
    issuer: Task | None = None
    cta: int = 0
    """Rank of the issuer's CTA."""
    index: int = 0
    """Counts the operations of a run."""
    held: list[Held] = field(default_factory=list[Held])
    barriers: tuple[Barrier, ...] = ()
    """The barriers it reports to."""
