"""Barrier generations: the phases that a wait guarantees to be complete.

A wait is ordered after the phases that the parity rule (`concurrency.parity`) guarantees with what
its task has observed, no more. If these are the observed ones, the wait may pass at once: right for
a producer whose ring buffer is empty, wrong for a consumer with inverted parity, whose reads are
then unordered.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tilewright.analysis.concurrency import guaranteed_phases
from tilewright.analysis.ordering.clocks import Agent, ClockPair, covers, includes

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
    """An operation on a barrier: an arrival, an expect-tx or a complete-tx."""

    kind: SignalKind
    task: str
    """The task that arrived, or that issued the operation."""
    operation: str
    amount: int
    """Arrivals or bytes."""
    site: int
    phase: int
    event: int
    component: int
    seen: tuple[int, ...] = ()
    """What it releases: the clock of the signalling agent."""


@dataclass(frozen=True)
class WaitRecord:
    """A wait that passed."""

    task: str
    parity: int
    site: int
    event: int
    observed: int
    """Phases that its task had observed to be complete before."""
    guaranteed: int
    """Phases that are guaranteed to be complete afterwards."""
    component: int
    time: int
    """The time of its task: an agent that observes this time is ordered after the wait."""

    @property
    def passes_at_once(self) -> bool:
        return self.guaranteed == self.observed


@dataclass(eq=False)
class NamedBarrierRound:
    """One phase of a named barrier: the tasks that arrive, the tasks that wait, and their joint
    clock."""

    name: str
    generation: int = 0
    clocks: ClockPair = field(default_factory=ClockPair)
    came: dict[str, int] = field(default_factory=dict[str, int])
    """By the task, its site."""
    went: dict[str, None] = field(default_factory=dict[str, None])


@dataclass(eq=False)
class Generations:
    """The history of one barrier."""

    key: Hashable
    name: str
    owner: str
    """The array it is in."""
    count: int
    site: int
    component: int
    """Component and time of the agent that initialised it."""
    time: int
    maker: str = ""
    """The task that initialised it."""
    total: ClockPair = field(default_factory=ClockPair)
    phases: list[ClockPair] = field(default_factory=list[ClockPair])
    """The clock released by each completed phase; later phases include earlier ones."""
    ended: list[int] = field(default_factory=list[int])
    """The event at which each phase completed."""
    signals: list[Signal] = field(default_factory=list[Signal])
    waits: list[WaitRecord] = field(default_factory=list[WaitRecord])
    waiters: dict[str, None] = field(default_factory=dict[str, None])
    """Tasks that reached a wait for it."""
    _observed: dict[str, int] = field(default_factory=dict[str, int])

    def signal(self, kind: SignalKind, agent: Agent, amount: int, site: int, event: int) -> Signal:
        self.total.observe(agent.clocks)
        made = Signal(
            kind,
            agent.name,
            agent.operation,
            amount,
            site,
            len(self.phases),
            event,
            agent.component,
            tuple(agent.clocks.seen),
        )
        self.signals.append(made)
        return made

    def end_phase(self, event: int) -> None:
        self.phases.append(self.total.copy())
        self.ended.append(event)

    def observed_by(self, agent: Agent) -> int:
        """How many phases an agent observes to be complete."""
        observed = self._observed.get(agent.name, 0)
        seen = agent.clocks.seen
        while observed < len(self.phases) and includes(seen, self.phases[observed].seen):
            observed += 1
        self._observed[agent.name] = observed
        return observed

    def waited(self, agent: Agent, parity: int, site: int, event: int) -> WaitRecord:
        """A wait has passed: the agent observes the phases that are guaranteed to be complete."""
        observed = self.observed_by(agent)
        guaranteed = min(guaranteed_phases(observed, parity), len(self.phases))
        if guaranteed > observed:
            agent.clocks.observe(self.phases[guaranteed - 1])
        record = WaitRecord(
            agent.name, parity & 1, site, event, observed, guaranteed, agent.component, agent.time
        )
        agent.tick()
        self.waiters[agent.name] = None
        self.waits.append(record)
        return record

    def outrun(self) -> tuple[WaitRecord, Signal] | None:
        """A wait that the next phase does not wait for, and a signal of that phase.

        If the phase after the one it waits for could complete first, its parity would be the same
        again and the wait would not pass: some signal of that phase must be ordered after the wait.
        """
        for wait in self.waits:
            if wait.guaranteed >= len(self.phases):
                continue
            if covers(self.phases[wait.guaranteed].seen, wait.component, wait.time):
                continue
            return wait, next(each for each in self.signals if each.phase == wait.guaranteed)
        return None

    def phase_at(self, event: int) -> int:
        """The phase that was incomplete at an event."""
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
