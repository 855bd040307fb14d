"""Vector clocks of warps and asynchronous units, joined where threads synchronise.

An *agent* accesses shared memory on its own. Each has a clock, which advances where the agent
releases. `observed[w, a]` is the latest time of agent `a` that warp `w` has observed: what
`a` did up to then happens before what `w` does now. There are five kinds:

    0 … W        warps; within a warp, lanes are distinguished by `converged`, see below
    W … 2W       the tensor core of the group of warps that starts with this one (wgmma)
    2W … 3W      bulk stores of a warp, in the order they were issued
    3W … 4W      cp.async of a warp, in order too
    4W …         TMA loads, which complete in any order: slots, used round-robin
    last 5W      of kernels with tensor memory: how far the warp's accesses to it have come, see
                 `warp_clocks.TENSOR_KINDS`

With tensor memory, the agents of the cluster's other blocks follow: what orders the two CTAs of a
pair is checked, too. Elsewhere clocks are not forwarded between CTAs.

`fenced[w, a]` is the same for the asynchronous proxy: what threads wrote up to then is visible
to asynchronous units that `w` starts. A proxy fence copies all that the warp has observed.

(Lamport, "Time, Clocks, and the Ordering of Events in a Distributed System", 1978; the form used
here is that of Flanagan and Freund, "FastTrack", 2009.)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tilewright.analysis.thread_sync.warp_clocks import TENSOR_KINDS, ClockSnapshot, WarpClocks

_SLOTS = 64


@dataclass(eq=False)
class Clocks(WarpClocks):
    """The clocks of one block."""

    threads: int
    warp_size: int
    blocks: int = 1
    has_tensor_memory: bool = False
    observed: Any = field(init=False)
    fenced: Any = field(init=False)
    converged: Any = field(init=False)
    """The time at which all lanes of a warp last synchronised: earlier accesses are ordered."""
    ticks: Any = field(init=False)
    """The number of operations of each asynchronous agent."""

    def __post_init__(self) -> None:
        self.warps = -(-self.threads // self.warp_size)
        self.first_load = 4 * self.warps
        self.first_tensor = self.first_load + _SLOTS
        self.local = self.first_tensor
        if self.has_tensor_memory:
            self.local += len(TENSOR_KINDS) * self.warps
        self.agents = self.local * self.blocks
        self.observed = np.zeros((self.warps, self.agents), np.int32)
        own = np.arange(self.warps)
        self.observed[own, own] = 1
        self.fenced = np.zeros_like(self.observed)
        self.converged = np.ones(self.warps, np.int32)
        self.ticks = np.zeros(self.agents, np.int32)
        self._loads = 0

    def nothing(self) -> ClockSnapshot:
        return ClockSnapshot(np.zeros(self.agents, np.int32), np.zeros(self.agents, np.int32))

    # -- agents ------------------------------------------------------------------------------

    def mma_agent(self, warp: int) -> int:
        return self.warps + warp

    def store_agent(self, warp: int) -> int:
        return 2 * self.warps + warp

    def copy_agents(self, warps: Any) -> Any:
        return 3 * self.warps + warps

    def load_agent(self) -> int:
        """The slot of the next load."""
        self._loads += 1
        return self.first_load + self._loads % _SLOTS

    def tick(self, agents: Any) -> Any:
        """The next time of asynchronous agents."""
        self.ticks[agents] += 1
        return self.ticks[agents]

    # -- events ------------------------------------------------------------------------------
