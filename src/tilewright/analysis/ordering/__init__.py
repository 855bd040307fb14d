"""Happens-before of tasks, barriers and asynchronous engines: what nothing orders.

A kernel of tasks is right if every two accesses to the same bytes, one of them a write, are ordered
by a chain of arrivals and waits; it is not enough that they happened to come in the right order.
`Checker` is fed the events of one run and compares orders with vector clocks:

    clocks      what a strand of events knows of the others
    barriers    phases, and what a wait is sure to know
    regions     per byte, the last write and the last reads
    history     what an explanation may look at, and which access was meant to come first
    explain     from two unordered accesses to the wait, arrival, parity or count that is wrong
    stale       reads of the wrong contents that are ordered all the same
    stuck       the same for tasks that wait for ever

It knows nothing of IR or of who runs the kernel: places are numbers, memories are keys.
"""

from __future__ import annotations

from tilewright.analysis.ordering.checker import Checker
from tilewright.analysis.ordering.clocks import Agent
from tilewright.analysis.ordering.findings import (
    TITLES,
    Cause,
    Finding,
    FindingKind,
    Remark,
)
from tilewright.analysis.ordering.history import PossibleSignal
from tilewright.analysis.ordering.regions import Access, ByteRegion, Deed, Proxy, byte_range
from tilewright.analysis.ordering.stuck import StuckGate

__all__ = [
    "TITLES",
    "Access",
    "Agent",
    "ByteRegion",
    "Cause",
    "Checker",
    "Deed",
    "Finding",
    "FindingKind",
    "PossibleSignal",
    "Proxy",
    "Remark",
    "StuckGate",
    "byte_range",
]
