"""Memory barriers with phases, as PTX's `mbarrier` has them.

A barrier is in phase 0 at first. A phase ends when as many arrivals came as the barrier was made
for *and* every byte that was announced (`expect_tx`) was delivered (`complete_tx`); then the next
one begins with the full count of arrivals. Waiting with parity p means: until the phase of that
parity has ended, which for a fresh barrier and parity 1 is at once.

    count 1:   expect_tx 512   arrive   complete_tx 512   ->  phase 1
    parity 0 may pass now, parity 1 waits for the next one

Bytes may be delivered before they are announced, within a phase: the balance is signed. A phase
cannot end on a negative balance.
"""

from __future__ import annotations

from dataclasses import dataclass

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
    """How many phases have ended."""
    arrived: int = 0
    """Arrivals in the current phase."""
    bytes_due: int = 0
    """Announced and not delivered; negative if delivered too early."""

    def __post_init__(self) -> None:
        if not 1 <= self.count <= MAX_COUNT:
            raise BarrierMisuse(
                f"{self.name} is made for {self.count} arrivals; it must be 1 to {MAX_COUNT}"
            )

    def arrive(self, count: int = 1) -> None:
        """`count` threads arrive."""
        if self.arrived + count > self.count:
            raise BarrierMisuse(
                f"{self.arrived + count} arrivals on {self.name} in phase {self.phase}, "
                f"but it is made for {self.count}"
            )
        self.arrived += count
        self._advance()

    def expect_arrivals(self, count: int) -> None:
        """So many arrivals more end this phase."""
        self.arrived -= count

    def expect_tx(self, size_bytes: int) -> None:
        """Announce bytes that will be delivered in this phase."""
        self.bytes_due += size_bytes
        if self.bytes_due > MAX_COUNT:
            raise BarrierMisuse(
                f"{self.bytes_due} bytes announced on {self.name}, the most is {MAX_COUNT}"
            )
        self._advance()

    def arrive_expect_tx(self, size_bytes: int) -> None:
        """Announce bytes, then arrive: in one go, so the phase cannot end in between."""
        self.bytes_due += size_bytes
        self.arrive()

    def complete_tx(self, size_bytes: int) -> None:
        """Bytes were delivered."""
        self.bytes_due -= size_bytes
        self._advance()

    def has_passed(self, parity: int) -> bool:
        """Whether the phase of this parity has ended: the current one has the other parity."""
        return (self.phase & 1) != (parity & 1)

    def _advance(self) -> None:
        if self.arrived < self.count or self.bytes_due:
            return
        self.phase += 1
        self.arrived = 0

    def missing(self) -> str:
        """What the current phase lacks."""
        lacks: list[str] = []
        if self.arrived < self.count:
            lacks.append(f"{self.arrived} of {self.count} arrivals came")
        if self.bytes_due > 0:
            lacks.append(f"{self.bytes_due} announced bytes were not delivered")
        if self.bytes_due < 0:
            lacks.append(f"{-self.bytes_due} delivered bytes were not announced")
        return f"in phase {self.phase}: " + (" and ".join(lacks) or "nothing is missing")
