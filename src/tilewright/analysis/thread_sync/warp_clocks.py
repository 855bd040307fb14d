"""Vector clocks of warps and of asynchronous units, joined where threads synchronise.

`observed[w, a]` is the latest time of agent `a` that warp `w` has observed, `fenced[w, a]` the same
for asynchronous operations that `w` issues; `converged[w]` is when the lanes of `w` last converged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

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


class WarpClocks:
    """Synchronisation between warps; subclasses define the agents."""

    observed: Any
    fenced: Any
    converged: Any
    warps: int
    first_tensor: int
    """The first agent of accesses to tensor memory, of kernels that use it."""
    blocks: int
    """Of the cluster, if clocks are forwarded between them: then each has agents of all, its own
    first."""
    local: int
    """Agents of one block."""

    def tensor_agents(self, kind: str) -> slice:
        """Of all warps, by kind of access to tensor memory."""
        first = self.first_tensor + TENSOR_KINDS.index(kind) * self.warps
        return slice(first, first + self.warps)

    def forwarded(self, signal: ClockSnapshot, sender: int, receiver: int) -> ClockSnapshot:
        """A signal of these clocks' block as another block of the cluster has its agents."""
        if sender == receiver:
            return signal
        if self.blocks == 1:
            return ClockSnapshot(np.zeros_like(signal.observed), np.zeros_like(signal.fenced))
        order = [receiver, *(rank for rank in range(self.blocks) if rank != receiver)]
        own = [sender, *(rank for rank in range(self.blocks) if rank != sender)]
        parts = [own.index(rank) for rank in order]
        return ClockSnapshot(
            *(
                each.reshape(self.blocks, self.local)[parts].reshape(-1)
                for each in (signal.observed, signal.fenced)
            )
        )

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
