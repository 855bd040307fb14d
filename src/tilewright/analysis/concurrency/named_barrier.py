"""Barriers that count threads: `bar.sync id, threads`, and the block's own.

Threads that *sync* wait until the thread count has arrived, and continue together; threads that
*arrive* count and do not wait. All concurrent uses of a barrier must agree on the thread count.
"""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.analysis.concurrency.mbarrier import BarrierMisuse


@dataclass(eq=False)
class NamedBarrier:
    """One barrier; it can be reused as soon as its phase has completed."""

    name: str
    threads: int = 0
    """Its thread count, 0 while no thread has arrived."""
    arrived: int = 0
    generation: int = 0
    """How many phases have completed."""

    def arrive(self, count: int, threads: int) -> int:
        """`count` threads arrive on a barrier of `threads`; returns the generation to wait for."""
        if self.arrived and threads != self.threads:
            raise BarrierMisuse(
                f"{self.name} is used with {threads} threads while {self.arrived} of "
                f"{self.threads} threads wait on it"
            )
        if self.arrived + count > threads:
            raise BarrierMisuse(
                f"{self.arrived + count} threads arrive on {self.name}, expected {threads}"
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
        """The arrivals so far."""
        return f"{self.arrived} of {self.threads} threads arrived"
