"""Vector clocks: what an agent has observed of all other agents.

An agent is a task, or a sequence of asynchronous operations that follow each other. It has an
index, its *component*, and increments its own time at every release. It has observed, for every
component, the latest time that happened before: event (c, t) happened before an agent with
``clock[c] >= t``.

Besides the clock of happens-before there is a second one that counts only what an async proxy fence
has published: writes of threads that TMA and tensor cores may read. It travels with the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field


def join(clock: list[int], other: Sequence[int]) -> None:
    """Join `other` into `clock`: the component-wise maximum."""
    if len(other) > len(clock):
        clock.extend([0] * (len(other) - len(clock)))
    for component, time in enumerate(other):
        if time > clock[component]:
            clock[component] = time


def covers(clock: Sequence[int], component: int, time: int) -> bool:
    """Whether an event happened before an agent with this clock."""
    return component < len(clock) and clock[component] >= time


def includes(clock: Sequence[int], other: Sequence[int]) -> bool:
    """Whether `clock` has observed everything that `other` has."""
    size = len(clock)
    return all(time <= (clock[i] if i < size else 0) for i, time in enumerate(other))


@dataclass
class ClockPair:
    """What happened before, and what of it is published to the async proxy."""

    seen: list[int] = field(default_factory=list[int])
    fenced: list[int] = field(default_factory=list[int])

    def observe(self, other: ClockPair) -> None:
        join(self.seen, other.seen)
        join(self.fenced, other.fenced)

    def copy(self) -> ClockPair:
        return ClockPair(list(self.seen), list(self.fenced))


@dataclass(eq=False)
class Agent:
    """A task, or one asynchronous operation."""

    name: str
    """The task; for an operation, the one that issued it."""
    component: int
    clocks: ClockPair
    operation: str = ""
    """Human-readable, empty for a task: `the TMA load into a[0]`."""
    engine: str = ""
    event: int = 0
    """When it began."""
    barriers: tuple[Hashable, ...] = ()
    """The barriers that an operation signals."""

    @property
    def time(self) -> int:
        return self.clocks.seen[self.component]

    def tick(self) -> None:
        """Later events are not part of what was released."""
        self.clocks.seen[self.component] += 1


class Agents:
    """Allocates components, and reuses those of completed operations.

    Operations are many, but few of them are unordered among each other. One may follow another in
    the same component if its issuer is ordered after the other; so clocks stay short.
    """

    def __init__(self) -> None:
        self.count = 0
        self._lines: dict[str, list[Agent]] = {}

    def task(self, name: str, parent: Agent | None) -> Agent:
        clocks = ClockPair() if parent is None else parent.clocks.copy()
        return self._begin(Agent(name, self._next(), clocks))

    def operation(self, name: str, what: str, engine: str, issuer: Agent, event: int) -> Agent:
        clocks = issuer.clocks.copy()
        lines = self._lines.setdefault(engine, [])
        for index, last in enumerate(lines):
            if covers(clocks.seen, last.component, last.time):
                agent = Agent(name, last.component, clocks, what, engine, event)
                lines[index] = self._begin(agent)
                return agent
        agent = self._begin(Agent(name, self._next(), clocks, what, engine, event))
        lines.append(agent)
        return agent

    def _next(self) -> int:
        self.count += 1
        return self.count - 1

    def _begin(self, agent: Agent) -> Agent:
        join(agent.clocks.seen, [0] * (agent.component + 1))
        agent.tick()
        return agent
