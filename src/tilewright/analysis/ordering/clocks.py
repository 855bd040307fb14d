"""Vector clocks: what a strand of events knows of all the others.

A strand is a task, or a line of asynchronous operations that follow each other. It has a number,
its *component*, and counts up its own time at every release. What it knows is the latest time of
every component that happened before: event (c, t) happened before whoever has ``clock[c] >= t``.

Beside the clock of happens-before there is a second one that counts only what a proxy fence has
published: writes of threads that copy engines may look at. It travels with the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field


def join(clock: list[int], other: Sequence[int]) -> None:
    """Let `clock` know what `other` knows."""
    if len(other) > len(clock):
        clock.extend([0] * (len(other) - len(clock)))
    for component, time in enumerate(other):
        if time > clock[component]:
            clock[component] = time


def covers(clock: Sequence[int], component: int, time: int) -> bool:
    """Whether an event happened before whoever has this clock."""
    return component < len(clock) and clock[component] >= time


def includes(clock: Sequence[int], other: Sequence[int]) -> bool:
    """Whether everything `other` knows is known to `clock`."""
    size = len(clock)
    return all(time <= (clock[i] if i < size else 0) for i, time in enumerate(other))


@dataclass
class Knowledge:
    """What happened before, and what of it is published to copy engines."""

    seen: list[int] = field(default_factory=list[int])
    fenced: list[int] = field(default_factory=list[int])

    def learn(self, other: Knowledge) -> None:
        join(self.seen, other.seen)
        join(self.fenced, other.fenced)

    def copy(self) -> Knowledge:
        return Knowledge(list(self.seen), list(self.fenced))


@dataclass(eq=False)
class Agent:
    """A task, or one asynchronous operation."""

    name: str
    """The task; for an operation, the one that issued it."""
    component: int
    knowledge: Knowledge
    operation: str = ""
    """For people, empty for a task: `the TMA load into a[0]`."""
    engine: str = ""
    event: int = 0
    """When it began."""
    gates: tuple[Hashable, ...] = ()
    """The barriers that an operation reports to."""

    @property
    def time(self) -> int:
        return self.knowledge.seen[self.component]

    def tick(self) -> None:
        """What comes is not part of what was released."""
        self.knowledge.seen[self.component] += 1


class Agents:
    """Gives out components, and takes those of operations back.

    Operations are many, but few of them are unordered among each other. One may follow another in
    the same component if its issuer knows that the other is done; so clocks stay short.
    """

    def __init__(self) -> None:
        self.count = 0
        self._lines: dict[str, list[Agent]] = {}

    def task(self, name: str, parent: Agent | None) -> Agent:
        knowledge = Knowledge() if parent is None else parent.knowledge.copy()
        return self._begin(Agent(name, self._next(), knowledge))

    def operation(self, name: str, what: str, engine: str, issuer: Agent, event: int) -> Agent:
        knowledge = issuer.knowledge.copy()
        lines = self._lines.setdefault(engine, [])
        for number, last in enumerate(lines):
            if covers(knowledge.seen, last.component, last.time):
                strand = Agent(name, last.component, knowledge, what, engine, event)
                lines[number] = self._begin(strand)
                return strand
        strand = self._begin(Agent(name, self._next(), knowledge, what, engine, event))
        lines.append(strand)
        return strand

    def _next(self) -> int:
        self.count += 1
        return self.count - 1

    def _begin(self, strand: Agent) -> Agent:
        join(strand.knowledge.seen, [0] * (strand.component + 1))
        strand.tick()
        return strand
