"""A small concurrent machine: tasks, asynchronous units and barriers under a seeded schedule.

A warp-specialised kernel must compute the same under every order of events that the hardware
allows. The machine runs such a kernel in one order that is chosen by a seed, and detects deadlocks.
It depends neither on IR nor on arrays:

    tasks       Python generators; they stop (`yield`) wherever another task may run
    units       operations that were issued and complete later: TMA, tensor cores
    barriers    `MBarrier` (phases, arrivals, bytes), `NamedBarrier` (threads), `Groups` (counted)
    schedule    picks the next task or operation; the same seed gives the same order
"""

from __future__ import annotations

from tilewright.targets.numpy.machine.deadlock import BlockedTask, Deadlock
from tilewright.targets.numpy.machine.engine import Engine, Operation
from tilewright.targets.numpy.machine.groups import Groups
from tilewright.targets.numpy.machine.mbarrier import BarrierMisuse, MBarrier
from tilewright.targets.numpy.machine.named_barrier import NamedBarrier
from tilewright.targets.numpy.machine.schedule import Schedule, schedule_of
from tilewright.targets.numpy.machine.scheduler import Event, Machine
from tilewright.targets.numpy.machine.tasks import Task, Wait

__all__ = [
    "BarrierMisuse",
    "BlockedTask",
    "Deadlock",
    "Engine",
    "Event",
    "Groups",
    "MBarrier",
    "Machine",
    "NamedBarrier",
    "Operation",
    "Schedule",
    "Task",
    "Wait",
    "schedule_of",
]
