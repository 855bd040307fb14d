"""What each warp has observed of the others: vector clocks, joined where threads synchronise.

An *agent* accesses shared memory independently, or completes phases. `observed[w, a]` is the latest
time of agent `a` that warp `w` has observed; what `a` did up to then happened before what `w` does
now. `fenced[w, a]` is the same for asynchronous operations that `w` issues: an async proxy fence
publishes all that the warp has observed. With W warps, the agents are

    0 … W         warps: what their lanes do themselves
    W … 2W        tensor cores, by the first warp of their group
    2W … 3W       bulk stores of a warp
    3W … 4W       cp.async of a warp; never observed, a wait makes them the warp's own
    4W … 4W+64    TMA loads, which complete in any order: slots, used cyclically
    from there    barriers, one each: how many phases have completed
    from there    accesses to tensor memory, of kernels that have some (`TENSOR_KINDS`),
                  and in these the agents of the cluster's other blocks
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

GROUP = 4
"""Warps of a warp group."""
_SLOTS = 64
TENSOR_KINDS = ("load", "store", "done load", "done store", "issue")
"""Accesses of a warp to tensor memory that a fence has released (loads, stores), that it has waited
for, and MMAs it had issued before a fence: an agent each."""


@dataclass(eq=False)
class ClockSnapshot:
    """The clock that an arrival releases: everything that happened before it."""

    observed: Any
    fenced: Any

    def join(self, other: ClockSnapshot) -> None:
        np.maximum(self.observed, other.observed, out=self.observed)
        np.maximum(self.fenced, other.fenced, out=self.fenced)

    def copy(self) -> ClockSnapshot:
        return ClockSnapshot(self.observed.copy(), self.fenced.copy())


class Clocks:
    """The clocks of one block."""

    def __init__(
        self,
        threads: int,
        warp_size: int,
        barriers: int,
        *,
        blocks: int = 1,
        has_tensor_memory: bool = False,
    ) -> None:
        self.warp_size = warp_size
        self.warps = -(-threads // warp_size)
        self.readers = 3 * self.warps
        """Agents that read shared memory come first."""
        self.first_load = 4 * self.warps
        self.first_barrier = self.first_load + _SLOTS
        self.first_tensor = self.first_barrier + barriers
        kinds = len(TENSOR_KINDS) if has_tensor_memory else 0
        self.local = self.first_tensor + kinds * self.warps
        self.blocks = blocks if has_tensor_memory else 1
        self.agents = self.local * self.blocks
        self.observed: Any = np.zeros((self.warps, self.agents), np.int32)
        own = np.arange(self.warps)
        self.observed[own, own] = 1
        self.fenced: Any = np.zeros_like(self.observed)
        self.converged: Any = np.ones(self.warps, np.int32)
        """The time at which all lanes of a warp last converged: they observe each other up to
        it."""
        self.ticks: Any = np.zeros(self.agents, np.int32)
        self._loads = 0

    def nothing(self) -> ClockSnapshot:
        return ClockSnapshot(np.zeros(self.agents, np.int32), np.zeros(self.agents, np.int32))

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

    def of_warp(self, warp: int) -> ClockSnapshot:
        return ClockSnapshot(self.observed[warp].copy(), self.fenced[warp].copy())

    def tensor_agents(self, kind: str) -> slice:
        """Of all warps, by kind of access to tensor memory."""
        first = self.first_tensor + TENSOR_KINDS.index(kind) * self.warps
        return slice(first, first + self.warps)

    def forwarded(self, signal: ClockSnapshot, sender: int, receiver: int) -> ClockSnapshot:
        """A signal of these clocks' block as another block of the cluster has its agents."""
        if sender == receiver:
            return signal
        return ClockSnapshot(
            self.forwarded_row(signal.observed, sender, receiver),
            self.forwarded_row(signal.fenced, sender, receiver),
        )

    def forwarded_row(self, row: Any, sender: int, receiver: int) -> Any:
        """The times of the agents of a block, in the order of another one: its own first."""
        if self.blocks == 1:
            return np.zeros_like(row)
        order = [receiver, *(rank for rank in range(self.blocks) if rank != receiver)]
        own = [sender, *(rank for rank in range(self.blocks) if rank != sender)]
        parts = [own.index(rank) for rank in order]
        return row.reshape(self.blocks, self.local)[parts].reshape(-1)

    def foreign(self, own: int, other: int) -> int:
        """The first agent of another block of the cluster."""
        return self.local * (1 + [rank for rank in range(self.blocks) if rank != own].index(other))

    def common(self, warps: Any) -> ClockSnapshot:
        """What every one of these warps has observed."""
        return ClockSnapshot(self.observed[warps].min(axis=0), self.fenced[warps].min(axis=0))

    def release(self, warps: Any) -> ClockSnapshot:
        """The joined clock of these warps; their next accesses are not part of it."""
        signal = ClockSnapshot(self.observed[warps].max(axis=0), self.fenced[warps].max(axis=0))
        self.observed[warps, warps] += 1
        return signal

    def acquire(self, warps: Any, signal: ClockSnapshot) -> None:
        """These warps observe the clock of the signal."""
        own = self.observed[warps, warps]
        self.observed[warps] = np.maximum(self.observed[warps], signal.observed)
        self.observed[warps, warps] = own
        self.fenced[warps] = np.maximum(self.fenced[warps], signal.fenced)

    def observe(self, warps: Any, agent: int, time: int) -> None:
        """These warps observe an agent up to a time."""
        self.observed[warps, agent] = np.maximum(self.observed[warps, agent], time)

    def converge(self, warps: Any) -> None:
        """All lanes of these warps have converged."""
        self.converged[warps] = self.observed[warps, warps]

    def fence(self, warps: Any) -> None:
        """Asynchronous operations issued after it observe what these warps have observed."""
        self.fenced[warps] = np.maximum(self.fenced[warps], self.observed[warps])
        self.observed[warps, warps] += 1
