"""Asynchronous operations of a CTA: their description, issuer and pending accesses."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.analysis.concurrency import Operation
from tilewright.targets.numpy.tasks.support.arena import Held


@dataclass(eq=False)
class AsyncOperation(Operation):
    """An operation in flight."""

    cta: int = 0
    """Rank of the issuer's CTA."""
    held: list[Held] = field(default_factory=list[Held])
