"""A CTA: its memories, its tasks, and the accesses to them.

Every access goes through `reads` or `writes`, which check it against pending operations and notify
the recorder. The accesses of an asynchronous operation are pending from its issue to its
completion; the schedule completes late enough that a missing wait is detected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from typing_extensions import override

from tilewright.analysis.concurrency import (
    GroupKind,
    Groups,
    NamedBarrier,
    Proxy,
    Steps,
    Task,
)
from tilewright.targets.numpy.api import Grid, Memory, RunOptions
from tilewright.targets.numpy.support.batch import Batch, SourceSite
from tilewright.targets.numpy.tasks.support.arena import Held, TaskArena, View, conflict
from tilewright.targets.numpy.tasks.support.barriers import Barrier
from tilewright.targets.numpy.tasks.support.cluster import Cluster
from tilewright.targets.numpy.tasks.support.operations import AsyncOperation
from tilewright.targets.numpy.tasks.support.votes import ballot
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault, count_text

WARP = 32
_OF_THREADS = ("cp.async", "wgmma")
TMEM_ROWS = 128
COLUMN_BYTES = 4


class CtaState(Batch):
    """One CTA of a cluster; generated code calls it `rt`."""

    def __init__(
        self,
        mem: Memory,
        grid: Grid,
        program: int,
        source_sites: Sequence[SourceSite],
        options: RunOptions,
        cluster: Cluster,
    ) -> None:
        super().__init__(mem, grid, np.array([program], np.int64), source_sites, options)
        self.cluster = cluster
        self.rank = len(cluster.ctas)
        tables, tracked = cluster.tables, cluster.is_checked
        shares = tracked and bool(tables.kinds)
        self.smem = TaskArena("shared memory", self.rank, tables.smem_bytes, 0, tracked, shares)
        pitch = tables.tmem_columns * COLUMN_BYTES
        size = TMEM_ROWS * pitch
        self.tmem = TaskArena("tensor memory", self.rank, size, max(pitch, 1), tracked, shares)
        self.barriers: dict[int, Barrier] = {}
        """By their offset in shared memory."""
        self.named_barriers: dict[int, NamedBarrier] = {}
        self.cluster_generation = 0
        """Of the cluster's barrier, at this CTA's last arrival."""
        self.landing: dict[int, tuple[Any, AsyncOperation]] = {}
        """Results of MMAs in flight, retained here, by their identity."""
        self.scratches: list[Any] = []
        self.descriptors: dict[int, tuple[Any, ...]] = {}
        """Tensor descriptors that were written to memory, by address."""
        self._first_threads: dict[Task, int] = {}

    # -- grid --------------------------------------------------------------------------------

    @override
    def program_id(self, axis: int) -> Any:
        return np.int32(self.coordinates(0)[axis])

    def cta_rank(self) -> Any:
        return np.int32(self.rank)

    def cluster_size(self) -> Any:
        return np.int32(len(self.cluster.ctas))

    def thread_id(self, axis: int) -> Any:
        """Of the first thread of the task: values of a tile kernel are the same for all."""
        first = self._first_threads.get(self.cluster.task, 0)
        return np.int64(first if axis == 0 else 0)

    def ballot(self, mask: Any, truths: Any, shape: tuple[int, ...]) -> Any:
        """The votes of each warp of the task on a tensor of truth values."""
        whole = np.broadcast_to(np.asarray(truths), (1, *shape))  # the first axis is of programs
        return ballot(mask, whole[0], self.cluster.task.threads)[None]

    def clock(self) -> Any:
        return np.int64(self.cluster.machine.steps)

    # -- tasks -------------------------------------------------------------------------------

    def spawn(self, *partitions: tuple[str, Callable[[], Steps], int]) -> list[Task]:
        """Start partitions beside the current task, which becomes the default one."""
        cluster = self.cluster
        main = cluster.task
        main.name = self._named("default")
        first = main.threads
        tasks: list[Task] = []
        for name, steps, warps in partitions:
            task = cluster.machine.spawn(self._named(name), steps(), warps * WARP, self)
            self._first_threads[task] = first
            first += task.threads
            cluster.events.spawn(task, main)
            tasks.append(task)
        return tasks

    def join(self, tasks: list[Task]) -> Steps:
        """Go on when they have ended."""
        machine, main = self.cluster.machine, self.cluster.task
        yield from machine.join(tasks)
        machine.tasks = [task for task in machine.tasks if task not in tasks]
        self.cluster.events.join(main, tasks)

    def _named(self, name: str) -> str:
        return name if len(self.cluster.ctas) == 1 else f"CTA {self.rank} {name}"

    # -- buffers -----------------------------------------------------------------------------

    def alloc(self, index: int) -> View:
        """A buffer; its bytes hold nothing."""
        made = self.cluster.tables.allocations[index]
        kind = made.kind
        arena = self.tmem if kind.in_tensor_memory else self.smem
        peers = tuple(cta.tmem if kind.in_tensor_memory else cta.smem for cta in self.cluster.ctas)
        view = View(
            arena,
            made.name,
            made.offset,
            kind.shape,
            kind.strides,
            kind.dtype,
            made,
            kind.block,
            layout=kind.layout,
            peers=peers,
        )
        if arena.is_tracked:
            table = arena.filled.reshape(-1, arena.pitch or max(arena.size, 1))
            table[:, made.offset : made.offset + made.size] = False
        self.cluster.recorder.alloc(self.cluster.actor, view, made.source_id)
        return view

    def seen_as(self, view: View, kind: int, name: str = "") -> View:
        return view.seen_as(self.cluster.tables.kinds[kind], name)

    def placed(
        self,
        view: View,
        kind: int,
        name: str,
        offset: int,
        levels: tuple[tuple[int | None, int], ...],
    ) -> View:
        return view.placed(self.cluster.tables.kinds[kind], name, offset, levels)

    # -- accesses ----------------------------------------------------------------------------

    def reads(self, view: View, proxy: Proxy, source_id: int) -> Any:
        """A copy of the elements."""
        view.require()
        self.cluster.events.access(self.cluster.actor, "read", view, proxy, source_id)
        if self.cluster.is_checked:
            self._check(view, False, source_id)
            if not view.filled.all():
                problem = _uninitialised(view, source_id)
                if not self.cluster.recorder.keep(problem):
                    raise problem
            if view.arena.keeps_layouts:
                self.cluster.layouts.read(view, source_id)
        return view.read()

    def writes(self, view: View, values: Any, proxy: Proxy, source_id: int) -> None:
        """Replace the elements."""
        view.require()
        self.cluster.events.access(self.cluster.actor, "write", view, proxy, source_id)
        if self.cluster.is_checked:
            self._check(view, True, source_id)
            view.filled[...] = True
            if view.arena.keeps_layouts:
                self.cluster.layouts.wrote(view)
        view.write(values)

    def _check(self, view: View, writes: bool, source_id: int, engine: str = "") -> None:
        if self.cluster.acting is not None:
            return  # an operation that finishes: it was looked at when it was issued
        if view.arena.pending and not self.cluster.recorder.finds_conflicts:
            found = conflict(view, writes=writes, engine=engine)
            if found is not None:
                raise _disturbed(view, writes, found[0], found[1], source_id)
        if writes and not view.arena.is_tensor_memory:
            self._spare_barriers(view, source_id)

    def _spare_barriers(self, view: View, source_id: int) -> None:
        owner = self.cluster.ctas[view.arena.cta]
        _, _, low, high = view.box
        for offset, barrier in owner.barriers.items():
            if low < offset + 8 and offset < high:
                message = f"write to {view.name} overwrites barrier {barrier.name}"
                notes = [Note(f"{barrier.name} is initialised here", barrier.source_id)]
                raise RuntimeFault("barrier", message, notes, source_id)

    # -- asynchronous operations -------------------------------------------------------------

    def start(
        self,
        what: str,
        engine: str,
        source_id: int,
        finish: Callable[[], None],
        parts: Sequence[tuple[View, bool]],
        *,
        in_order: bool = False,
        barriers: Sequence[Barrier] = (),
    ) -> AsyncOperation:
        """Issue an operation that accesses `parts`, each with whether it is written.

        It completes on `barriers`.
        """
        cluster = self.cluster
        name = f"{engine} of CTA {self.rank}"

        def complete() -> None:
            cluster.acting = cluster.last = operation
            for held in operation.held:
                held.view.arena.pending.remove(held)
            finish()
            cluster.acting = cluster.last = None

        operation = AsyncOperation(
            what,
            complete,
            source_id,
            cluster.task.name,
            engine=name,
            in_order=in_order,
            issuer=cluster.task,
            cta=self.rank,
            barriers=barriers,
        )
        for view, _ in parts:
            view.require()
        if cluster.is_checked:
            for view, writes in parts:
                self._check(view, writes, source_id, name if in_order else "")
            operation.held = [Held(view, writes, operation) for view, writes in parts]
            for held in operation.held:
                held.view.arena.pending.append(held)
        cluster.actions.issue(cluster.machine, operation)
        return operation

    def groups(self, kind: GroupKind) -> Groups[AsyncOperation]:
        """The groups of the current task."""
        return self.cluster.actions.groups(self.cluster.task, kind)

    def commit_alone(self, kind: GroupKind, operation: AsyncOperation, source_id: int) -> None:
        """An operation that the current task issued is a group of its own."""
        self.cluster.actions.commit_alone(self.cluster.task, kind, operation, source_id)

    def wait_groups(self, kind: GroupKind, leave: int, source_id: int) -> Steps:
        """Wait until at most `leave` groups of the current task are in flight."""
        yield from self.cluster.actions.wait_groups(self.cluster.task, kind, leave, source_id)

    def leave(self, source_id: int) -> None:
        """The CTA ends: its memory must not be needed any more.

        Copies and MMAs of threads end with their threads; asynchronous units outlive them.
        """
        for arena in (self.smem, self.tmem):
            for held in arena.pending:
                operation = held.operation
                if operation.engine.startswith(_OF_THREADS):
                    continue
                doing = "writes" if held.writes else "reads"
                message = f"the CTA exits while {operation.what} still {doing} {held.view.name}"
                issued = operation.site if isinstance(operation.site, int) else None
                notes = [
                    Note("it was issued here", issued),
                    "wait for it before the kernel returns",
                ]
                raise RuntimeFault("not arrived", message, notes, source_id)


def _uninitialised(view: View, source_id: int) -> RuntimeFault:
    holes = ~view.filled
    count = int(holes.sum())
    message = f"uninitialised read: {count_text(count, 'byte')} of {view.name} not written"
    return RuntimeFault("uninitialised", message, view.notes(), source_id)


def _disturbed(view: View, writes: bool, held: Held, shared: int, source_id: int) -> RuntimeFault:
    verb = "write to" if writes else "read of"
    operation = held.operation
    doing = "writes" if held.writes else "reads"
    message = f"{verb} {view.name} while {operation.what} still {doing} {held.view.name}"
    issued = operation.site if isinstance(operation.site, int) else None
    notes: list[Note | str] = [
        Note(f"{operation.what} was issued here by {operation.task}, and is in flight", issued),
        f"the accesses overlap in {count_text(shared, 'byte')} of {view.arena.name}",
        _how_to_wait(operation),
    ]
    return RuntimeFault("not arrived", message, notes, source_id)


def _how_to_wait(operation: AsyncOperation) -> str:
    if not operation.barriers:
        return "wait for its group, or for a commit after it, before this access"
    barrier = operation.barriers[0]
    return (
        f"it completes on {barrier.name}, which is in phase {barrier.phase} with "
        f"{barrier.tx_count} bytes pending: wait for the phase that tracks it, and expect all "
        "bytes of that phase"
    )
