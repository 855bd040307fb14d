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
                 `_TENSOR_KINDS`

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

_SLOTS = 64
_TENSOR_KINDS = ("load", "store", "done load", "done store", "issue")
"""Loads and stores that a fence has released, those that were waited for, and MMAs issued before a
fence."""


@dataclass(eq=False)
class ClockSnapshot:
    """What an arrival releases, and a wait acquires."""

    observed: Any
    fenced: Any

    def join(self, other: ClockSnapshot) -> None:
        for own, arriving in ((self.observed, other.observed), (self.fenced, other.fenced)):
            np.maximum(own, arriving, out=own)

    def copy(self) -> ClockSnapshot:
        return ClockSnapshot(self.observed.copy(), self.fenced.copy())


@dataclass(eq=False)
class Clocks:
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
            self.local += len(_TENSOR_KINDS) * self.warps
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

    def tensor_agents(self, kind: str) -> slice:
        """Of all warps, by kind of access to tensor memory."""
        first = self.first_tensor + _TENSOR_KINDS.index(kind) * self.warps
        return slice(first, first + self.warps)

    def foreign(self, own: int, other: int) -> int:
        """The first agent of another block of the cluster."""
        return self.local * (other + 1 if other < own else other)

    # -- events ------------------------------------------------------------------------------

    def release(self, warps: Any) -> ClockSnapshot:
        """What any of these warps has observed; what they do next is not part of it."""
        made = ClockSnapshot(self.observed[warps].max(axis=0), self.fenced[warps].max(axis=0))
        self.observed[warps, warps] += 1
        return made

    def acquire(self, warps: Any, signal: ClockSnapshot) -> None:
        """These warps observe a signal; nothing but a release advances a warp's own time."""
        now = self.observed[warps, warps]
        self.observed[warps] = np.maximum(self.observed[warps], signal.observed)
        self.fenced[warps] = np.maximum(self.fenced[warps], signal.fenced)
        self.observed[warps, warps] = now

    def common(self, warps: Any) -> ClockSnapshot:
        """What all of these warps have observed."""
        return ClockSnapshot(self.observed[warps].min(axis=0), self.fenced[warps].min(axis=0))

    def observe(self, warps: Any, agent: int, time: int) -> None:
        self.observed[warps, agent] = np.maximum(self.observed[warps, agent], time)

    def converge(self, warps: Any) -> None:
        """The lanes of each of these warps have synchronised."""
        self.converged[warps] = self.observed[warps, warps]

    def fence(self, warps: Any) -> None:
        """A proxy fence."""
        self.fenced[warps] = np.maximum(self.fenced[warps], self.observed[warps])
        self.observed[warps, warps] += 1

    # -- blocks of a cluster -----------------------------------------------------------------

    def forwarded(self, signal: ClockSnapshot, sender: int, receiver: int) -> ClockSnapshot:
        """A signal of a block, in the order of the agents of another one."""
        if sender == receiver:
            return signal
        return ClockSnapshot(
            self.forwarded_row(signal.observed, sender, receiver),
            self.forwarded_row(signal.fenced, sender, receiver),
        )

    def forwarded_row(self, row: Any, sender: int, receiver: int) -> Any:
        """Each block lists its own agents first, then those of the others by rank."""
        if self.blocks == 1:
            return np.zeros_like(row)
        by_rank = np.empty((self.blocks, self.local), row.dtype)
        by_rank[_order(sender, self.blocks)] = row.reshape(self.blocks, self.local)
        return by_rank[_order(receiver, self.blocks)].reshape(-1)


def _order(own: int, blocks: int) -> list[int]:
    return [own, *(rank for rank in range(blocks) if rank != own)]
