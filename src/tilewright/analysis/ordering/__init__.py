"""Happens-before between tasks, barriers and asynchronous units: accesses that nothing orders.

A kernel of tasks is right if every two accesses to the same bytes, one of them a write, are ordered
by a chain of arrivals and waits; that one run executed them in the right order proves nothing.
`Checker` is fed the events of one run and compares orders with vector clocks:

    events      from the tasks and operations of a run to the agents of a checker
    clocks      vector clocks of agents (tasks and asynchronous operations)
    barriers    phases, and which of them a wait guarantees to be complete
    regions     per byte, the last write and the last reads
    history     the inputs of an explanation, and which access was meant to come first
    explain     from two unordered accesses to the wait, arrival, parity or count that is wrong
    stale       reads of the wrong contents that are ordered all the same
    deadlocks   the same for tasks that wait forever

The package depends neither on IR nor on the interpreter: sites are integers, memories are keys.
"""

from __future__ import annotations

from tilewright.analysis.ordering.checker import Checker
from tilewright.analysis.ordering.clocks import Agent
from tilewright.analysis.ordering.deadlocks import BlockedNamedBarrier
from tilewright.analysis.ordering.events import CheckerEvents
from tilewright.analysis.ordering.findings import (
    TITLES,
    Cause,
    Finding,
    FindingKind,
    Remark,
)
from tilewright.analysis.ordering.history import PossibleSignal
from tilewright.analysis.ordering.regions import Access, ByteRegion, StridedBytes, byte_range

__all__ = [
    "TITLES",
    "Access",
    "Agent",
    "BlockedNamedBarrier",
    "ByteRegion",
    "Cause",
    "Checker",
    "CheckerEvents",
    "Finding",
    "FindingKind",
    "PossibleSignal",
    "Remark",
    "StridedBytes",
    "byte_range",
]
