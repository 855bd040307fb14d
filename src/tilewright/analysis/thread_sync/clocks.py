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
    from there    accesses to tensor memory, of kernels that have some (`warp_clocks.TENSOR_KINDS`),
                  and in these the agents of the cluster's other blocks
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.analysis.thread_sync.warp_clocks import TENSOR_KINDS, ClockSnapshot, WarpClocks

GROUP = 4
"""Warps of a warp group."""
_SLOTS = 64


class Clocks(WarpClocks):
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
