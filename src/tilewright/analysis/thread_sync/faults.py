"""What can be wrong with the synchronisation of a kernel, and how that is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from xdsl.ir import Operation


class FaultKind(Enum):
    """One kind for each code of `check-thread-sync`."""

    RACE = "race"
    """Two accesses of the same bytes that nothing orders."""
    FENCE = "fence"
    """An engine reads what threads wrote, and no fence of the proxies lies between."""
    IN_FLIGHT = "in flight"
    """Registers of a product, or memory of a bulk store, are used before its end."""
    DEADLOCK = "deadlock"
    """Threads wait for ever."""
    BYTES = "bytes"
    """A barrier expects other bytes than copies bring."""
    COUNT = "count"
    """A barrier counts other arrivals than come."""
    OVERRUN = "overrun"
    """A phase may end while somebody still waits for the one before."""
    OUTSIDE = "outside"
    """An access outside of shared memory."""
    LOST = "lost"
    """A buffer is read whose bytes another one has taken."""


@dataclass(frozen=True)
class SyncFault:
    """Something wrong, at an op, and what else to look at."""

    kind: FaultKind
    op: Operation | None
    message: str
    notes: tuple[tuple[Operation | None, str], ...] = ()


class FaultError(Exception):
    """Ends a run: what follows a fault says nothing."""

    def __init__(self, fault: SyncFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class NotAnalysedError(Exception):
    """Ends a run that cannot be followed with numbers."""

    def __init__(self, op: Operation | None, reason: str) -> None:
        super().__init__(reason)
        self.op, self.reason = op, reason
