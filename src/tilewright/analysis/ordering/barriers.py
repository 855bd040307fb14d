"""Barrier generations: what a wait is sure to know.

A wait with parity p returns when the phase of that parity has ended. Which phase that is depends on
how far the barrier has come, so a run in which a wait met a later phase than it had to proves
nothing. What every run has in common is this:

    known     phases that the waiter knows to be complete (by its clock)
    c         the least number of complete phases, at least `known`, for which parity p may pass

The wait is sure of the phases before c, no more. If c is `known` the wait may pass at once: right
for a producer that finds its ring empty, wrong for a consumer that has the parity the wrong way
round, whose reads are then unordered.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tilewright.analysis.ordering.clocks import Agent, Knowledge, covers, includes

SignalKind: TypeAlias = Literal["arrive", "expect", "deliver"]


def cta_of(task: str) -> str:
    """`CTA 1` of `CTA 1 default`; empty if there is only one."""
    return task.rpartition(" ")[0]


def short_task(name: str) -> str:
    """`default` of `CTA 1 default`."""
    return name.rpartition(" ")[2]


def index_of(name: str) -> str:
    """`[1]` of `full[1]`; empty if it has none."""
    return name[name.index("[") :] if "[" in name else ""


@dataclass(frozen=True)
class Signal:
    """Something that brings a phase nearer to its end."""

    kind: SignalKind
    task: str
    """Who arrived, or whose operation did."""
    operation: str
    amount: int
    """Arrivals or bytes."""
    place: int
    phase: int
    event: int
    component: int
    seen: tuple[int, ...] = ()
    """What it tells: the clock of who gave it."""


@dataclass(frozen=True)
class WaitRecord:
    """A wait that passed."""

    task: str
    parity: int
    place: int
    event: int
    known: int
    """Phases its task knew to be complete before."""
    sure: int
    """Phases it is sure of afterwards."""
    component: int
    time: int
    """Of its task: whoever knows this time knows that the wait is over."""

    @property
    def passes_at_once(self) -> bool:
        return self.sure == self.known


@dataclass(eq=False)
class NamedBarrierRound:
    """One opening of a barrier of threads: who came, who waited, and what all of them know."""

    name: str
    generation: int = 0
    knowledge: Knowledge = field(default_factory=Knowledge)
    came: dict[str, int] = field(default_factory=dict[str, int])
    """By the task, where."""
    went: dict[str, None] = field(default_factory=dict[str, None])


@dataclass(eq=False)
class Generations:
    """The history of one barrier."""

    key: Hashable
    name: str
    owner: str
    """The array it is in."""
    count: int
    place: int
    component: int
    """Of who made it, and when."""
    time: int
    maker: str = ""
    """The task that made it."""
    total: Knowledge = field(default_factory=Knowledge)
    phases: list[Knowledge] = field(default_factory=list[Knowledge])
    """What is known once each phase has ended; later ones know what earlier ones do."""
    ended: list[int] = field(default_factory=list[int])
    """When each phase ended."""
    signals: list[Signal] = field(default_factory=list[Signal])
    waits: list[WaitRecord] = field(default_factory=list[WaitRecord])
    waiters: dict[str, None] = field(default_factory=dict[str, None])
    """Tasks that came to a wait for it."""
    _known: dict[str, int] = field(default_factory=dict[str, int])

    def signal(
        self, kind: SignalKind, strand: Agent, amount: int, place: int, event: int
    ) -> Signal:
        self.total.learn(strand.knowledge)
        made = Signal(
            kind,
            strand.name,
            strand.operation,
            amount,
            place,
            len(self.phases),
            event,
            strand.component,
            tuple(strand.knowledge.seen),
        )
        self.signals.append(made)
        return made

    def end_phase(self, event: int) -> None:
        self.phases.append(self.total.copy())
        self.ended.append(event)

    def known_to(self, strand: Agent) -> int:
        """How many phases a strand knows to be complete."""
        known = self._known.get(strand.name, 0)
        seen = strand.knowledge.seen
        while known < len(self.phases) and includes(seen, self.phases[known].seen):
            known += 1
        self._known[strand.name] = known
        return known

    def waited(self, strand: Agent, parity: int, place: int, event: int) -> WaitRecord:
        """A wait has passed: the strand learns what it is sure of."""
        known = self.known_to(strand)
        sure = known if (known & 1) != (parity & 1) else known + 1
        sure = min(sure, len(self.phases))
        if sure > known:
            strand.knowledge.learn(self.phases[sure - 1])
        record = WaitRecord(
            strand.name, parity & 1, place, event, known, sure, strand.component, strand.time
        )
        strand.tick()
        self.waiters[strand.name] = None
        self.waits.append(record)
        return record

    def outrun(self) -> tuple[WaitRecord, Signal] | None:
        """A wait that the next phase does not wait for, and a signal of that phase.

        If the phase after the one it waits for could end first, its parity would be the same again
        and the wait would not pass: some signal of that phase must know that the wait is over.
        """
        for wait in self.waits:
            if wait.sure >= len(self.phases):
                continue
            if covers(self.phases[wait.sure].seen, wait.component, wait.time):
                continue
            return wait, next(each for each in self.signals if each.phase == wait.sure)
        return None

    def phase_at(self, event: int) -> int:
        """The phase that was under way."""
        return sum(1 for each in self.ended if each < event)

    @property
    def is_waited_for(self) -> bool:
        return bool(self.waiters)

    def waits_of(self, task: str) -> list[WaitRecord]:
        """The waits of a task that passed, in order."""
        return [each for each in self.waits if each.task == task]

    def arrivers(self) -> list[str]:
        """Tasks that arrive, in the order they first did."""
        return list(dict.fromkeys(s.task for s in self.signals if s.kind == "arrive"))
