"""Barriers in shared memory, eight bytes each."""

from __future__ import annotations

from dataclasses import dataclass, field

from tilewright.analysis.concurrency import KeyedBarrier
from tilewright.targets.numpy.tasks.support.arena import Allocation


@dataclass(eq=False)
class Barrier(KeyedBarrier):
    """A barrier that was initialised."""

    offset: int = 0
    """Of its bytes in shared memory."""
    cta: int = 0
    root: Allocation | None = None
    source_id: int = 0
    """Where it was initialised."""
    signallers: dict[str, int] = field(default_factory=dict[str, int])
    """Tasks whose arrivals, bytes or operations it got, and where the last came from."""
