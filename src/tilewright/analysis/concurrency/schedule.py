"""Schedules: the orders of events that a kernel is run under.

The first seeds are the orders that find most bugs, the others are drawn at random:

====  ====================================================================================
seed  order
====  ====================================================================================
0     operations as late as possible: they complete only when no task can run; tasks
      round-robin
1     operations at once; the first task that can run does, as far as it can
2     as 0, but the last task that can run does
3     as 1, but the last task that can run does
4 …   random: each seed draws how eager operations are and how long a task keeps running
====  ====================================================================================

A check that compares what barriers order needs few orders, `CHECK_SCHEDULES`: what is ordered does
not depend on them, but a task that could run ahead must do so in one of them to expose a deadlock.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from tilewright.analysis.concurrency.engine import Operation
from tilewright.analysis.concurrency.tasks import Task


class Schedule(Protocol):
    """Chooses among the possible events; at least one of the lists is not empty."""

    def choose(self, tasks: list[Task], operations: list[Operation]) -> Task | Operation: ...


@dataclass
class _Fixed:
    """A deterministic order."""

    engines_first: bool
    last_first: bool

    def choose(self, tasks: list[Task], operations: list[Operation]) -> Task | Operation:
        if operations and (self.engines_first or not tasks):
            return operations[-1 if self.last_first else 0]
        if self.last_first:
            return max(tasks, key=lambda task: task.index)
        if self.engines_first:
            return min(tasks, key=lambda task: task.index)
        return min(tasks, key=lambda task: (task.resumed, task.index))


@dataclass
class _Random:
    """A random order, with its own probabilities."""

    random: random.Random
    eagerness: float = 0.5
    """The probability that an operation completes before a task runs."""
    stamina: float = 0.5
    """The probability that the same task continues."""
    last: Task | None = field(default=None)

    def choose(self, tasks: list[Task], operations: list[Operation]) -> Task | Operation:
        draw = self.random
        if operations and (not tasks or draw.random() < self.eagerness):
            return operations[draw.randrange(len(operations))]
        if self.last in tasks and draw.random() < self.stamina:
            assert self.last is not None
            return self.last
        self.last = tasks[draw.randrange(len(tasks))]
        return self.last


def schedule_of(seed: int) -> Schedule:
    """The schedule of a seed."""
    if seed < 4:
        return _Fixed(engines_first=seed in (1, 3), last_first=seed in (2, 3))
    draw = random.Random(seed)
    eagerness = draw.choice((0.02, 0.1, 0.3, 0.6))
    return _Random(draw, eagerness, draw.choice((0.0, 0.5, 0.9)))


@dataclass
class _Oldest:
    """The operation that was issued first; the first task that can run, or the last."""

    operations_first: bool = False
    last_first: bool = False

    def choose(self, tasks: list[Task], operations: list[Operation]) -> Task | Operation:
        if operations and (self.operations_first or not tasks):
            return min(operations, key=lambda each: each.order)
        return tasks[-1 if self.last_first else 0]


@dataclass
class RunToBlock:
    """Each task as far as it can, in rounds: a task that starts others is not followed by them in
    its round. What a check derives does not depend on it; which finding is first does."""

    position: int = 0
    end: int = 0
    """Of the tasks of this round, by index."""
    started: int = 0

    def choose(self, tasks: list[Task], operations: list[Operation]) -> Task | Operation:
        if not tasks:
            return operations[0]
        self.started = max(self.started, tasks[-1].index + 1)
        chosen = next((each for each in tasks if self.position <= each.index < self.end), None)
        if chosen is None:
            chosen, self.end = tasks[0], self.started
        self.position = chosen.index
        return chosen


@dataclass
class _Any:
    """Every task that can run and every operation with the same probability."""

    random: random.Random

    def choose(self, tasks: list[Task], operations: list[Operation]) -> Task | Operation:
        in_order = sorted(operations, key=lambda each: each.order)
        return self.random.choice([*tasks, *in_order])


CHECK_SCHEDULES: Mapping[str, Callable[[], Schedule]] = {
    "late": _Oldest,
    "early": lambda: _Oldest(operations_first=True, last_first=True),
    "any": lambda: _Any(random.Random(1)),
}
"""The orders that checks without data are run under, by when operations complete."""
