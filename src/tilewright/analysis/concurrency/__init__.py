"""The concurrency core: tasks, asynchronous units and barriers under a schedule.

A warp-specialised kernel must compute the same under every order of events that the hardware
allows. A `Machine` runs such a kernel in one order, chosen by a schedule, and detects deadlocks.
Executions with data (`targets/numpy`, `targets/tenstorrent`) and checks without (`analysis`,
`passes/tlx/alias_sync`) run on it. It depends neither on IR nor on arrays:

    tasks       Python generators; they stop (`yield`) wherever another task may run
    units       operations that were issued and complete later: TMA, tensor cores
    barriers    `MBarrier` (phases, arrivals, bytes), `NamedBarrier` (threads), `Groups` (counted)
    parity      what a wait for a phase guarantees, whatever the schedule
    schedule    picks the next task or operation; the same seed gives the same order
    events      the events of a run, for checkers and timelines: `SyncEvents`
"""

from __future__ import annotations

from tilewright.analysis.concurrency.deadlock import BlockedTask, Deadlock
from tilewright.analysis.concurrency.engine import Engine, Operation
from tilewright.analysis.concurrency.events import (
    EVENTS,
    AccessKind,
    GroupKind,
    Proxy,
    Relay,
    SyncEvents,
)
from tilewright.analysis.concurrency.groups import Groups
from tilewright.analysis.concurrency.mbarrier import BarrierMisuse, KeyedBarrier, MBarrier
from tilewright.analysis.concurrency.named_barrier import NamedBarrier
from tilewright.analysis.concurrency.parity import guaranteed_phases, passes
from tilewright.analysis.concurrency.schedule import (
    CHECK_SCHEDULES,
    RunToBlock,
    Schedule,
    schedule_of,
)
from tilewright.analysis.concurrency.scheduler import Event, Machine, TooManySteps
from tilewright.analysis.concurrency.tasks import Steps, Task, Wait

__all__ = [
    "CHECK_SCHEDULES",
    "EVENTS",
    "AccessKind",
    "BarrierMisuse",
    "BlockedTask",
    "Deadlock",
    "Engine",
    "Event",
    "GroupKind",
    "Groups",
    "KeyedBarrier",
    "MBarrier",
    "Machine",
    "NamedBarrier",
    "Operation",
    "Proxy",
    "Relay",
    "RunToBlock",
    "Schedule",
    "Steps",
    "SyncEvents",
    "Task",
    "TooManySteps",
    "Wait",
    "guaranteed_phases",
    "passes",
    "schedule_of",
]
