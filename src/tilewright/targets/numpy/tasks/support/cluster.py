"""CTAs that run together, and what they share: the machine, the recorder, the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tilewright.analysis.concurrency import Actions, Machine, NamedBarrier, SyncEvents, Task
from tilewright.targets.numpy.tasks.recorder import SILENT, Recorder
from tilewright.targets.numpy.tasks.support.arena import Allocation, ArenaKind, View
from tilewright.targets.numpy.tasks.support.barriers import Barrier
from tilewright.targets.numpy.tasks.support.layouts import Layouts
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation

if TYPE_CHECKING:
    from tilewright.targets.numpy.tasks.support.runtime import CtaRuntime


@dataclass(frozen=True)
class Signal:
    """An op that arrives on a barrier, or delivers bytes to it."""

    task: str
    """The task it is in: `default`, `partition0`."""
    op: str
    source_id: int


@dataclass(frozen=True)
class Tables:
    """What is known of a kernel before it runs."""

    kinds: Sequence[ArenaKind] = ()
    allocations: Sequence[Allocation] = ()
    smem_bytes: int = 0
    tmem_columns: int = 0
    num_warps: int = 4
    signals: Mapping[str, Sequence[Signal]] = field(default_factory=dict[str, Sequence[Signal]])
    """By the name of the allocation that holds the barriers."""
    waiters: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """By the same name, tasks with a wait for one of them."""
    bodies: Mapping[str, str] = field(default_factory=dict[str, str])
    """By the name of a partition, where its body begins: `gemm.py:41`."""


@dataclass(eq=False)
class Cluster:
    """The CTAs of a cluster in one run."""

    tables: Tables
    seed: int = 0
    recorder: Recorder = SILENT
    is_checked: bool = True
    take: Callable[[], tuple[int, int, int] | None] = lambda: None
    """Takes over the work of a cluster that has not started: its first program, or None."""
    acting: AsyncOperation | None = None
    """The operation that finishes at the moment."""
    last: AsyncOperation | None = None
    """The operation in which something went wrong, if it was in one."""
    layouts: Layouts = field(default_factory=Layouts)

    def __post_init__(self) -> None:
        self.receive(self.recorder)
        self.ctas: list[CtaRuntime] = []
        self.machine = Machine(self.seed)
        self.barrier = NamedBarrier("the cluster's barrier")

    def receive(self, events: SyncEvents[View, Barrier, AsyncOperation]) -> None:
        """Send the events of the run to a receiver, at first the recorder."""
        self.events = events
        self.actions: Actions[View, Barrier, AsyncOperation] = Actions(events)

    @property
    def task(self) -> Task:
        """The task that runs."""
        found = self.machine.current
        assert found is not None, "only tasks issue, wait and arrive"
        return found

    @property
    def actor(self) -> Task | AsyncOperation:
        """The current actor: an operation that finishes, or the task that runs."""
        return self.task if self.acting is None else self.acting
