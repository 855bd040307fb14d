"""Memory barriers with phases, as PTX's `mbarrier` has them.

A barrier is in phase 0 at first. A phase completes when the pending arrivals *and* the transaction
count are zero (`expect_tx` bytes equal `complete_tx` bytes); then the next one begins with the full
arrive count. A wait with parity p lasts until the phase of that parity has completed, which for a
newly initialised barrier and parity 1 is immediately.

    count 1:   expect_tx 512   arrive   complete_tx 512   ->  phase 1
    parity 0 may pass now, parity 1 waits for the next one

Within a phase, complete-tx may precede expect-tx: the transaction count is signed. A phase cannot
complete on a negative count.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from tilewright.analysis.concurrency.parity import passes

MAX_COUNT = (1 << 20) - 1
"""Greatest arrive count and greatest transaction count (PTX ISA, mbarrier)."""


class BarrierMisuse(Exception):
    """A barrier was used in a way that the hardware does not define."""


@dataclass(eq=False)
class MBarrier:
    """One barrier."""

    name: str
    count: int
    phase: int = 0
    """How many phases have completed."""
    arrived: int = 0
    """Arrivals in the current phase."""
    expected: int = 0
    """Bytes of the current phase: expect-tx and complete-tx."""
    completed: int = 0
    site: object = None
    """Where it is allocated; its meaning is up to the creator."""

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_COUNT:
            raise BarrierMisuse(
                f"arrive count of {self.name} is {self.count}, expected 1 to {MAX_COUNT}"
            )

    @property
    def tx_count(self) -> int:
        """The transaction count: bytes expected and not completed; negative if completed first."""
        return self.expected - self.completed

    # Each of the following returns whether the phase completes.

    def arrive(self, count: int = 1) -> bool:
        """`count` threads arrive."""
        if self.arrived + count > self.count:
            raise BarrierMisuse(
                f"{self.arrived + count} arrivals on {self.name} in phase {self.phase}, "
                f"but its arrive count is {self.count}"
            )
        self.arrived += count
        return self._advance()

    def expect_tx(self, size_bytes: int) -> bool:
        """Expect bytes that will be completed in this phase."""
        self.expected += size_bytes
        if self.tx_count > MAX_COUNT:
            raise BarrierMisuse(
                f"transaction count {self.tx_count} of {self.name} exceeds the limit of {MAX_COUNT}"
            )
        return self._advance()

    def arrive_expect_tx(self, size_bytes: int, count: int = 1) -> bool:
        """Expect-tx, then arrive: atomically, so the phase cannot complete in between."""
        self.expected += size_bytes
        return self.arrive(count)

    def complete_tx(self, size_bytes: int) -> bool:
        """Complete-tx of some bytes."""
        self.completed += size_bytes
        return self._advance()

    def expect_arrivals(self, count: int) -> None:
        """This phase needs `count` more arrivals."""
        self.arrived -= count

    def has_passed(self, parity: int) -> bool:
        """Whether the phase of this parity has completed."""
        return passes(self.phase, parity)

    def _advance(self) -> bool:
        if self.arrived < self.count or self.expected != self.completed:
            return False
        self.phase += 1
        self.arrived = self.expected = self.completed = 0
        return True

    def missing(self) -> str:
        """What the current phase lacks."""
        lacks: list[str] = []
        if self.arrived < self.count:
            lacks.append(f"{self.arrived} of {self.count} arrivals occurred")
        if self.tx_count > 0:
            lacks.append(f"{self.tx_count} expected bytes were not completed")
        if self.tx_count < 0:
            lacks.append(f"{-self.tx_count} completed bytes were not expected")
        return f"in phase {self.phase}: " + (" and ".join(lacks) or "nothing is missing")


@dataclass(eq=False)
class KeyedBarrier(MBarrier):
    """A barrier that is identified by its bytes: all views of them are the same barrier."""

    key: Hashable = None
    owner: str = ""
    """The array that it is in."""
