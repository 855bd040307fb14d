"""How hard to try: a number of nodes, a number of seconds, or until it is proved.

A node is one decision of the exact search. With a limit in nodes a plan is the same on every
machine and every day; only a limit in seconds, which is opt-in, depends on the clock.
Seconds are those the planner itself computes: what the machine does for others does not count.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from tilewright.memory.planner.accelerate import Engine, engine


@dataclass(frozen=True)
class Effort:
    """Limits of one call. None is no limit; without any, planning ends with a proof."""

    nodes: int | None = None
    seconds: float | None = None
    backend: str = "auto"


MAX = Effort()
"""Until the plan is proved optimal."""

_COMPILE_TIME_WORK = 200_000
_MIN_NODES = 16
_MAX_NODES = 2000


def compile_time(work_a_node: int) -> Effort:
    """What a compiler can afford: some 50 ms, counted in nodes by what a node costs."""
    nodes = _COMPILE_TIME_WORK // max(work_a_node, 1)
    return Effort(nodes=max(_MIN_NODES, min(nodes, _MAX_NODES)), backend="python")


def core_seconds() -> float:
    """The clock of efforts: seconds that a core has worked for this thread."""
    return time.thread_time()


def halved(effort: Effort) -> Effort:
    """Half of every limit."""
    nodes = None if effort.nodes is None else effort.nodes // 2
    seconds = None if effort.seconds is None else effort.seconds / 2
    return replace(effort, nodes=nodes, seconds=seconds)


@dataclass
class Meter:
    """What is left of an effort."""

    effort: Effort
    spent: int = 0
    started: float = field(default_factory=core_seconds)

    @property
    def elapsed_seconds(self) -> float:
        """Seconds of one core since the start."""
        return core_seconds() - self.started

    @property
    def engine(self) -> Engine:
        """The engine for a search with this effort. Which one does not change what is found."""
        return engine(self.effort.backend, self.elapsed_seconds)

    @property
    def is_late(self) -> bool:
        """Whether the seconds are over, if there is a limit to them."""
        limit = self.effort.seconds
        return limit is not None and self.elapsed_seconds >= limit

    @property
    def is_empty(self) -> bool:
        """Whether any limit is reached."""
        if self.effort.nodes is not None and self.spent >= self.effort.nodes:
            return True
        return self.is_late

    def grant(self, nodes: int) -> int:
        """As many of these nodes as the limit leaves."""
        if self.effort.nodes is None:
            return nodes
        return max(0, min(nodes, self.effort.nodes - self.spent))
