"""Kinds of synchronisation errors of a kernel, and their reports."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from xdsl.ir import Operation


class FaultKind(Enum):
    """One kind for each code of `check-thread-sync`."""

    RACE = "race"
    """Two accesses of the same bytes that nothing orders."""
    FENCE = "fence"
    """TMA or a tensor core reads what threads wrote, without an async proxy fence between."""
    IN_FLIGHT = "in flight"
    """Registers of an MMA, or memory of a bulk store, are used while it is in flight."""
    DEADLOCK = "deadlock"
    """Threads wait forever."""
    BYTES = "bytes"
    """The expected bytes of a barrier differ from those that copies complete."""
    COUNT = "count"
    """The arrive count of a barrier differs from its arrivals."""
    OVERRUN = "overrun"
    """A phase may complete while threads still wait for the one before."""
    OUTSIDE = "outside"
    """An access out of bounds."""
    LOST = "lost"
    """A buffer is read after another one has overwritten it."""


@dataclass(frozen=True)
class SyncFault:
    """An error at an op, and related ops."""

    kind: FaultKind
    op: Operation | None
    message: str
    notes: tuple[tuple[Operation | None, str], ...] = ()


class FaultError(Exception):
    """Ends a run: what follows an error is meaningless."""

    def __init__(self, fault: SyncFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class NotAnalysedError(Exception):
    """Ends a run that cannot be analysed."""

    def __init__(self, op: Operation | None, reason: str) -> None:
        super().__init__(reason)
        self.op, self.reason = op, reason
