"""A small concurrent machine: tasks, asynchronous engines and barriers under a seeded schedule.

Kernels with roles, asynchronous copies and barriers mean the same under every order of events that
the hardware allows; one that does not is wrong. The machine runs such a kernel in one order that
is chosen by a seed, and finds out where it stands still. It knows nothing of IR or arrays:

    tasks       Python generators; they stop (`yield`) wherever another one may go on
    engines     operations that were issued and finish later: copies, matrix units
    barriers    `MBarrier` (phases, arrivals, bytes), `NamedBarrier` (threads), `Groups` (counted)
    schedule    picks who goes next; the same seed gives the same order
"""

from __future__ import annotations

from tilewright.targets.numpy.machine.deadlock import Deadlock, Stuck
from tilewright.targets.numpy.machine.engine import Engine, Operation
from tilewright.targets.numpy.machine.groups import Groups
from tilewright.targets.numpy.machine.mbarrier import BarrierMisuse, MBarrier
from tilewright.targets.numpy.machine.named_barrier import NamedBarrier
from tilewright.targets.numpy.machine.schedule import Schedule, schedule_of
from tilewright.targets.numpy.machine.scheduler import Event, Machine
from tilewright.targets.numpy.machine.tasks import Task, Wait

__all__ = [
    "BarrierMisuse",
    "Deadlock",
    "Engine",
    "Event",
    "Groups",
    "MBarrier",
    "Machine",
    "NamedBarrier",
    "Operation",
    "Schedule",
    "Stuck",
    "Task",
    "Wait",
    "schedule_of",
]
