"""Barriers that count threads: `bar.sync id, threads`, and the block's own.

Threads that *sync* wait until so many have come, and go on together; threads that *arrive* count
and do not wait. All who use a barrier at one time must agree on how many it is for.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.targets.numpy.machine.mbarrier import BarrierMisuse


@dataclass(eq=False)
class NamedBarrier:
    """One barrier; it can be used again as soon as it has opened."""

    name: str
    threads: int = 0
    """How many it is for, 0 while nobody has come."""
    arrived: int = 0
    generation: int = 0
    """How often it has opened."""

    def arrive(self, count: int, threads: int) -> int:
        """`count` threads come to a barrier for `threads`; returns the generation to wait for."""
        if self.arrived and threads != self.threads:
            raise BarrierMisuse(
                f"{self.name} is used for {threads} threads while {self.arrived} of "
                f"{self.threads} wait at it"
            )
        if self.arrived + count > threads:
            raise BarrierMisuse(
                f"{self.arrived + count} threads come to {self.name}, but it is for {threads}"
            )
        self.threads = threads
        self.arrived += count
        target = self.generation + 1
        if self.arrived == threads:
            self.generation += 1
            self.arrived = 0
        return target

    def has_opened(self, generation: int) -> bool:
        return self.generation >= generation

    def missing(self) -> str:
        """Who has not come."""
        return f"{self.arrived} of {self.threads} threads came"
