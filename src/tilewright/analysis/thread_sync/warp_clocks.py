"""What warps tell each other: vector clocks of warps and of engines, joined where threads meet.

`known[w, a]` is the latest time of agent `a` that warp `w` has heard of, `fenced[w, a]` the same as
engines see it that `w` starts; `met[w]` is when the lanes of `w` last met.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(eq=False)
class ClockSnapshot:
    """What comes with an arrival: everything that happened before it."""

    known: Any
    fenced: Any

    def join(self, other: ClockSnapshot) -> None:
        np.maximum(self.known, other.known, out=self.known)
        np.maximum(self.fenced, other.fenced, out=self.fenced)

    def copy(self) -> ClockSnapshot:
        return ClockSnapshot(self.known.copy(), self.fenced.copy())


class WarpClocks:
    """Events between warps; which agents there are is for others to say."""

    known: Any
    fenced: Any
    met: Any

    def common(self, warps: Any) -> ClockSnapshot:
        """What every one of these warps knows."""
        return ClockSnapshot(self.known[warps].min(axis=0), self.fenced[warps].min(axis=0))

    def release(self, warps: Any) -> ClockSnapshot:
        """What these warps together know; what they do next comes after it."""
        signal = ClockSnapshot(self.known[warps].max(axis=0), self.fenced[warps].max(axis=0))
        self.known[warps, warps] += 1
        return signal

    def acquire(self, warps: Any, signal: ClockSnapshot) -> None:
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
