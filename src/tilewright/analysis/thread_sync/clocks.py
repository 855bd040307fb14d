"""What each warp knows of the others: vector clocks, joined where threads meet.

An *agent* is whatever touches shared memory by itself, or ends phases. `known[w, a]` is the latest
time of agent `a` that warp `w` has heard of; what `a` did up to then happened before what `w` does
now. `fenced[w, a]` is the same for engines that `w` starts: a proxy fence takes over all that the
warp knows. With W warps, the agents are

    0 … W         warps: what their lanes do themselves
    W … 2W        tensor cores, by the first warp of their group
    2W … 3W       bulk stores of a warp
    3W … 4W       cp.async of a warp; nobody knows of these, waiting makes them the warp's own
    4W … 4W+64    loads of the copy engine, which end in any order: slots, used in turn
    from there    barriers, one each: how many phases have ended
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WARP = 32
GROUP = 4
"""Warps of a warp group."""
_SLOTS = 64


@dataclass(eq=False)
class Signal:
    """What comes with an arrival: everything that happened before it."""

    known: Any
    fenced: Any

    def join(self, other: Signal) -> None:
        np.maximum(self.known, other.known, out=self.known)
        np.maximum(self.fenced, other.fenced, out=self.fenced)

    def copy(self) -> Signal:
        return Signal(self.known.copy(), self.fenced.copy())


class Clocks:
    """The clocks of one block."""

    def __init__(self, threads: int, barriers: int) -> None:
        self.warps = -(-threads // WARP)
        self.readers = 3 * self.warps
        """Agents that read shared memory come first."""
        self.first_load = 4 * self.warps
        self.first_barrier = self.first_load + _SLOTS
        self.agents = self.first_barrier + barriers
        self.known: Any = np.zeros((self.warps, self.agents), np.int32)
        own = np.arange(self.warps)
        self.known[own, own] = 1
        self.fenced: Any = np.zeros_like(self.known)
        self.met: Any = np.ones(self.warps, np.int32)
        """The time at which all lanes of a warp last met: what one did before, the others know."""
        self.ticks: Any = np.zeros(self.agents, np.int32)
        self._loads = 0

    def nothing(self) -> Signal:
        return Signal(np.zeros(self.agents, np.int32), np.zeros(self.agents, np.int32))

    def next_load(self) -> tuple[int, int]:
        """The agent of the next load, and its time."""
        self._loads += 1
        agent = self.first_load + self._loads % _SLOTS
        return agent, self.tick(agent)

    def tick(self, agent: int) -> int:
        """The next time of an asynchronous agent."""
        self.ticks[agent] += 1
        return int(self.ticks[agent])

    # -- events ------------------------------------------------------------------------------

    def of_warp(self, warp: int) -> Signal:
        return Signal(self.known[warp].copy(), self.fenced[warp].copy())

    def common(self, warps: Any) -> Signal:
        """What every one of these warps knows."""
        return Signal(self.known[warps].min(axis=0), self.fenced[warps].min(axis=0))

    def release(self, warps: Any) -> Signal:
        """What these warps together know; what they do next comes after it."""
        signal = Signal(self.known[warps].max(axis=0), self.fenced[warps].max(axis=0))
        self.known[warps, warps] += 1
        return signal

    def acquire(self, warps: Any, signal: Signal) -> None:
        """These warps have heard of what the signal tells."""
        own = self.known[warps, warps]
        self.known[warps] = np.maximum(self.known[warps], signal.known)
        self.known[warps, warps] = own
        self.fenced[warps] = np.maximum(self.fenced[warps], signal.fenced)

    def learn(self, warps: Any, agent: int, time: int) -> None:
        """These warps know that an agent has come so far."""
        self.known[warps, agent] = np.maximum(self.known[warps, agent], time)

    def meet(self, warps: Any) -> None:
        """All lanes of these warps have met."""
        self.met[warps] = self.known[warps, warps]

    def fence(self, warps: Any) -> None:
        """Engines started after it see what these warps know."""
        self.fenced[warps] = np.maximum(self.fenced[warps], self.known[warps])
        self.known[warps, warps] += 1
