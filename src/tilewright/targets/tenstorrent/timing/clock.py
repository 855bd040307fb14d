"""Tasks with clocks, and what they wait for.

A task runs until it yields a `Blocked`; it is resumed once that has a time, with its clock at that
time at least. Tasks are resumed in the order of their clocks, so that a shared resource serves
requests in the order of time. Times of conditions come from the history of what they wait for,
not from the order in which tasks happen to run.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TypeAlias

Steps: TypeAlias = "Generator[Blocked, None, None]"


@dataclass(eq=False)
class Signal:
    """Something that changes, and the tasks that wait for its next change."""

    waiting: list[Task] = field(default_factory=lambda: list[Task]())


@dataclass(eq=False)
class Blocked:
    """What a task waits for."""

    reason: str
    """The kind of stall; empty if the task is busy meanwhile."""
    signal: Signal
    ready: Callable[[], float | None]
    """The time at which the condition held first; None while it does not."""


@dataclass(eq=False)
class Task:
    """One processor of a core."""

    name: str
    now: float = 0.0
    stalls: dict[str, float] = field(default_factory=dict[str, float])
    steps: Steps | None = None
    blocked: Blocked | None = None
    is_over: bool = False

    @property
    def stalled(self) -> float:
        """Cycles in which it waited for another task."""
        return sum(self.stalls.values())


class Deadlocked(RuntimeError):
    """Tasks that wait for each other."""


@dataclass(eq=False)
class Clock:
    """Runs tasks in the order of their clocks."""

    _ready: list[tuple[float, int, Task]] = field(
        default_factory=lambda: list[tuple[float, int, Task]]()
    )
    _tasks: list[Task] = field(default_factory=lambda: list[Task]())
    _order: int = 0

    def start(self, task: Task) -> None:
        """Add a task whose steps are set."""
        self._tasks.append(task)
        self._queue(task)

    def _queue(self, task: Task) -> None:
        self._order += 1
        heappush(self._ready, (task.now, self._order, task))

    def changed(self, signal: Signal) -> None:
        """Let the tasks that wait for `signal` look again."""
        waiting, signal.waiting = signal.waiting, []
        for task in waiting:
            self._queue(task)

    def run(self) -> None:
        """Run until every task has finished.

        Raises:
            Deadlocked: if tasks wait for each other.
        """
        while self._ready:
            _, _, task = heappop(self._ready)
            self._resume(task)
        blocked = [task.name for task in self._tasks if not task.is_over]
        if blocked:
            raise Deadlocked(f"{len(blocked)} kernels wait forever, the first is {blocked[0]}")

    def _resume(self, task: Task) -> None:
        blocked = task.blocked
        if blocked is not None:
            time = blocked.ready()
            if time is None:
                blocked.signal.waiting.append(task)
                return
            if time > task.now:
                if blocked.reason:
                    found = task.stalls.get(blocked.reason, 0.0)
                    task.stalls[blocked.reason] = found + time - task.now
                task.now = time
        assert task.steps is not None, "a started task has steps"
        task.blocked = next(task.steps, None)
        if task.blocked is None:
            task.is_over = True
            return
        self._queue(task)


@dataclass(eq=False)
class Counter(Signal):
    """A count that only grows, with the time of every change."""

    totals: list[int] = field(default_factory=list[int])
    times: list[float] = field(default_factory=list[float])

    def add(self, amount: int, time: float) -> None:
        """Grow; a change is visible no earlier than the one before."""
        last = self.times[-1] if self.times else 0.0
        self.totals.append((self.totals[-1] if self.totals else 0) + amount)
        self.times.append(max(last, time))

    def reached(self, total: int) -> float | None:
        """When the count was first at least `total`."""
        if total <= 0:
            return 0.0
        position = bisect_left(self.totals, total)
        return self.times[position] if position < len(self.totals) else None


@dataclass(eq=False)
class Rate:
    """A resource that serves requests in order, at a fixed rate."""

    bytes_per_cycle: float
    free: float = 0.0
    served: int = 0

    def serve(self, size_bytes: int, time: float) -> float:
        """When a request that comes at `time` has been served."""
        self.free = max(self.free, time) + size_bytes / self.bytes_per_cycle
        self.served += size_bytes
        return self.free
