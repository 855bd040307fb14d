"""One launch: the host function, and the blocks of each kernel it launches.

Clusters run sequentially. One that polls global memory which another cluster has yet to write is
suspended, and continues when others have run, as if all were resident on the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.across import LaunchOp
from tilewright.dialects.tile.kernel import KernelOp
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.targets.numpy.api import Buffer, Grid, seeds_of
from tilewright.targets.numpy.reached import ReachedMemory, address_of
from tilewright.targets.numpy.simt.api import CODES, FaultKind, SimtFault, SimtOptions, SimtReport
from tilewright.targets.numpy.simt.buffers import GlobalBuffer
from tilewright.targets.numpy.simt.kernels import (
    DEFAULT_THREADS,
    DEVICE,
    Kernel,
    Rules,
    compile_kernel,
    compiled,
)
from tilewright.targets.numpy.simt.machine import Deadlock, Machine, Progress
from tilewright.targets.numpy.simt.problems import SimtRuntimeFault
from tilewright.targets.numpy.simt.program import Act, Compiler
from tilewright.targets.numpy.simt.scalars import type_of
from tilewright.targets.numpy.simt.state import BlockRun, Frame
from tilewright.targets.numpy.simt.tensor_memory import TensorMemory
from tilewright.targets.numpy.strided_view import strided_view

_ALIGNED = 64
"""Bytes of which the memory that GPUs allocate begins at a multiple."""
LockstepGroups: TypeAlias = dict[Operation, Sequence[Any]]
"""Threads that execute in lockstep."""


@dataclass(eq=False)
class SimtProgram:
    """A module with a host function and the kernels that it launches."""

    module: ModuleOp
    kernels: dict[str, Kernel] = field(init=False)

    def __post_init__(self) -> None:
        functions = [op for op in self.module.body.ops if isinstance(op, FuncOp)]
        self.kernels = {
            op.sym_name.data: compile_kernel(op)
            for op in functions
            if simt_names.KERNEL in op.attributes
        }
        hosts = [op for op in functions if simt_names.KERNEL not in op.attributes]
        if len(hosts) != 1:
            raise ValueError(f"expected one host function in the module, found {len(hosts)}")
        self.host = hosts[0]

    def launch(self, arguments: Sequence[Any], options: SimtOptions | None = None) -> SimtReport:
        """Run under each schedule; arrays are changed in place, by the last one."""
        options = options or SimtOptions()
        report = SimtReport()
        started = perf_counter()
        given = [each for each in (*arguments, *options.reachable) if isinstance(each, Buffer)]
        arrays = [each.array for each in given]
        before = [array.copy() for array in arrays]
        groups: LockstepGroups = {}
        for seed in seeds_of(options):
            run: _Run | None = None
            while run is None or run.part():
                for array, old in zip(arrays, before, strict=True):
                    if array.flags.writeable:
                        array[...] = old
                run = _Run(self, options, seed, groups)
                run.host(arguments)
            if run.error is not None:
                raise _fault(run.error, run) from run.error
            report.blocks += run.blocks
            report.schedules += 1
        report.seconds = perf_counter() - started
        return report


@dataclass(eq=False)
class _Cluster:
    """Blocks that have begun."""

    machine: Machine
    blocks: Sequence[BlockRun]
    stopped: Deadlock = field(default_factory=lambda: Deadlock(()))
    """Why they last stopped before their end."""


class _Run:
    """One run under one schedule."""

    def __init__(
        self, program: SimtProgram, options: SimtOptions, seed: int, groups: LockstepGroups
    ) -> None:
        self.program, self.options, self.seed, self.groups = program, options, seed, groups
        self.kernel: Kernel | None = None
        self.block: Grid | None = None
        self.blocks = 0
        self.waiting: list[Grid] = []
        """First blocks of the clusters that have not run."""
        self.machine: Machine | None = None
        self.frame: Frame | None = None
        self.reached: ReachedMemory[GlobalBuffer] = ReachedMemory(())
        """Memory that addresses may point into."""
        self.error: SimtRuntimeFault | Deadlock | None = None
        """What it ended with."""

    def host(self, arguments: Sequence[Any]) -> None:
        """What the host does, as a block of one thread."""
        host_rules = {"simt.launch": self._launch_rule, "tile.kernel": self._kernel_rule}
        rules = Rules({**DEVICE.special, **host_rules})
        compiler = Compiler(rules)
        body = self.program.host.body.block
        slots = compiler.all_slots(body.args)
        code = compiler.code(body)
        machine = Machine()
        block = BlockRun((0, 0, 0), (1, 1, 1), 1, machine, self.options, np.zeros(0, np.uint8))
        frame = Frame(block, np.zeros(1, np.int64), [None] * len(compiler.slots), "host")
        for slot, argument, given in zip(slots, body.args, arguments, strict=True):
            frame.env[slot] = _argument(argument, given)
        self.reached = _reached([frame.env[slot] for slot in slots], self.options.reachable)
        self.frame = frame
        try:
            with np.errstate(all="ignore"):
                code.run(frame)
        except (SimtRuntimeFault, Deadlock) as error:
            self.error = error

    def _launch_rule(self, compiler: Compiler, op: Operation) -> Act:
        assert isinstance(op, LaunchOp)
        kernel = self.program.kernels[op.kernel.root_reference.data]
        grid, passed = compiler.all_slots(op.grid), compiler.all_slots(op.arguments)

        def act(frame: Frame) -> None:
            x, y, z = (int(frame.env[each]) for each in grid)
            given = [frame.env[each] for each in passed]
            for position in kernel.watched:
                given[position] = given[position].watched()
            self._launch(kernel, (x, y, z), given)

        return act

    def _kernel_rule(self, compiler: Compiler, op: Operation) -> Act:
        """A kernel that has not been outlined: its body sees what the host computed."""
        assert isinstance(op, KernelOp)
        kernel = compiled(op, op.body.block, compiler, op.num_threads or DEFAULT_THREADS)
        grid = [
            (each, -1) if isinstance(each, int) else (0, compiler.slot(each)) for each in op.grid
        ]

        def act(frame: Frame) -> None:
            extents = [size if slot < 0 else int(frame.env[slot]) for size, slot in grid]
            x, y, z = (*extents, 1, 1)[:3]
            self._launch(kernel, (x, y, z), None, frame.env)

        return act

    def _launch(
        self,
        kernel: Kernel,
        grid: Grid,
        arguments: Sequence[Any] | None,
        outside: Sequence[Any] = (),
    ) -> None:
        """Run the blocks; without arguments, the kernel takes the number of the block."""
        self.kernel = kernel
        clusters = {each[0]: each for each in _clusters(grid, kernel.cluster, self.options.blocks)}
        self.waiting = list(clusters)
        progress = Progress()
        polling: list[_Cluster] = []
        while self.waiting:  # a running cluster may cancel the launch of others
            indices = clusters[self.waiting.pop(0)]
            cluster = self._begin(kernel, indices, grid, arguments, outside, progress)
            if not self._runs_to_end(cluster):
                polling.append(cluster)
            polling = [each for each in polling if not self._runs_to_end(each)]
        while polling:
            before = progress.count
            polling = [each for each in polling if not self._runs_to_end(each)]
            if progress.count == before:
                self.machine = polling[0].machine
                raise polling[0].stopped
        self.block = None

    def _runs_to_end(self, cluster: _Cluster) -> bool:
        """Run blocks until they end; False if they poll memory that others have to write."""
        self.machine = cluster.machine
        try:
            cluster.machine.run()
        except Deadlock as stopped:
            if not stopped.polls:
                raise
            cluster.stopped = stopped
            return False
        for block in cluster.blocks:
            self._check_end(block)
        return True

    def _begin(
        self,
        kernel: Kernel,
        indices: Sequence[Grid],
        grid: Grid,
        arguments: Sequence[Any] | None,
        outside: Sequence[Any],
        progress: Progress,
    ) -> _Cluster:
        """Blocks that run at the same time, and may reach into each other."""
        machine = self.machine = Machine(self.seed, progress)
        size = -(-kernel.shared_bytes // 16) * 16
        cluster: list[BlockRun] = []
        for rank, index in enumerate(indices):
            arena = np.full(size, 0xA5, np.uint8)
            block = BlockRun(
                index,
                grid,
                kernel.threads,
                machine,
                self.options,
                arena,
                kernel.granule,
                kernel.warp_size,
                kernel.has_narrow_barriers,
                kernel.has_tensor_memory,
                len(indices),
                self.waiting,
                rank=rank,
            )
            if kernel.has_tensor_memory:
                block.tensor_memory = TensorMemory(block)
            block.reached = self.reached
            cluster.append(block)
            block.cluster = cluster
        for block in cluster:
            self.blocks += 1
            self.block = block.index
            block_ids = [np.int64(each) for each in block.index[: len(kernel.arguments)]]
            self._spawn(kernel, block, block_ids if arguments is None else arguments, outside)
        return _Cluster(machine, cluster)

    def _spawn(
        self, kernel: Kernel, block: BlockRun, arguments: Sequence[Any], outside: Sequence[Any]
    ) -> None:
        groups = self.groups.setdefault(kernel.op, self._first_groups(kernel))
        for group in groups:
            env = [*outside, *[None] * (len(kernel.compiler.slots) - len(outside))]
            name = "block" if len(groups) == 1 else f"threads {group[0]} to {group[-1]}"
            frame = Frame(block, group, env, name)
            for slot, value in zip(kernel.arguments, arguments, strict=True):
                frame.env[slot] = value
            self.frame = frame
            block.machine.spawn(name, kernel.code.process(frame), frame)

    def _first_groups(self, kernel: Kernel) -> Sequence[Any]:
        unit, threads = self.options.unit or kernel.unit, np.arange(kernel.threads)
        return [threads[first : first + unit] for first in range(0, kernel.threads, unit)]

    def part(self) -> bool:
        """After a deadlock: let threads go their own way that were held up by others.

        Whether there are any; then the launch has to begin again.
        """
        if not isinstance(self.error, Deadlock) or self.kernel is None or self.machine is None:
            return False
        frames = [task.context for task in self.machine.tasks if not task.is_over]
        waiting = [
            each.active_tids for each in frames if isinstance(each, Frame) and each.mask is not None
        ]
        before = self.groups[self.kernel.op]
        self.groups[self.kernel.op] = _split(before, waiting, self.kernel.min_unit)
        return len(self.groups[self.kernel.op]) > len(before)

    def _check_end(self, block: BlockRun) -> None:
        if not self.options.checked:
            return
        if block.tensor_memory is not None:
            block.tensor_memory.check_freed()
        for groups in block.stores:
            left = [*groups.open, *groups.older(0)]
            if left:
                site = left[0].site
                raise SimtRuntimeFault(
                    "in flight",
                    "the block exits while a bulk store may still read its shared memory; "
                    "nv.tma_store.wait is missing before the end of the kernel",
                    site if isinstance(site, Operation) else None,
                )


def _split(groups: Sequence[Any], waiting: Sequence[Any], unit: int) -> Sequence[Any]:
    """The groups, with threads that wait apart from those that they hold up; `unit` threads, of a
    warp or a warp group, stay together."""
    for threads in waiting:
        held = np.unique(threads // unit)
        marked = [(each, np.isin(each // unit, held)) for each in groups]
        parts = [part for each, waits in marked for part in (each[~waits], each[waits])]
        groups = [each for each in parts if len(each)]
    return groups


def _clusters(grid: Grid, cluster: Grid, count: int | None) -> Iterator[list[Grid]]:
    """Clusters of blocks, x fastest: all, or some from the first to the last."""
    wide = [-(-extent // size) for extent, size in zip(grid, cluster, strict=True)]
    total = prod(wide)
    indices: Any = range(total)
    if count is not None and count < total:
        indices = np.unique(np.linspace(0, total - 1, count, dtype=np.int64))
    for index in indices:
        corner = _unravelled(int(index), wide)
        yield [
            _shifted(corner, cluster, _unravelled(rank, cluster)) for rank in range(prod(cluster))
        ]


def _unravelled(index: int, extents: Sequence[int]) -> Grid:
    x, y, _ = extents
    return index % x, index // x % y, index // (x * y)


def _shifted(corner: Grid, cluster: Grid, inside: Grid) -> Grid:
    x, y, z = (a * size + b for a, size, b in zip(corner, cluster, inside, strict=True))
    return x, y, z


def _argument(argument: SSAValue, given: Any) -> Any:
    if isinstance(given, Buffer):
        # Integers of the IR have no sign: unsigned ones are looked at as signed.
        array = given.array.view(type_of(argument).dtype)
        return GlobalBuffer(given.name, _flat(array), array)
    return type_of(argument).dtype.type(given)


def _reached(values: Sequence[Any], others: Sequence[Buffer]) -> ReachedMemory[GlobalBuffer]:
    """The memory that addresses may point into: arguments, and what is reachable otherwise."""
    buffers = [each for each in values if isinstance(each, GlobalBuffer)]
    for each in others:
        flat = _flat(each.array)
        lead = address_of(flat) % _ALIGNED // flat.itemsize
        buffers.append(GlobalBuffer(each.name, flat, each.array, lead=lead))
    return ReachedMemory((each, each.data) for each in buffers)


def _flat(array: Any) -> Any:
    """The memory of an array, from its first element to its last."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    reach = sum(
        (extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)
    )
    count = reach // array.itemsize + 1 if array.size else 0
    return strided_view(array, (count,), (array.itemsize,))


# -- faults ------------------------------------------------------------------------------------


def _fault(error: SimtRuntimeFault | Deadlock, run: _Run) -> SimtFault:
    kind: FaultKind
    if isinstance(error, Deadlock):
        kind, diagnostic = "deadlock", _deadlock(error)
    else:
        kind, diagnostic = error.kind, _problem(error, run)
    where, block = f"schedule with seed {run.seed}", _block_of(run)
    if block is not None:
        where = f"block {block}, {where}"
    diagnostic.notes.insert(0, Diagnostic(Severity.NOTE, where))
    return SimtFault(kind, diagnostic, block, run.options.sources, run.seed)


def _block_of(run: _Run) -> Grid | None:
    """Where it happened: of a cluster, the block whose threads ran."""
    current = None if run.machine is None else run.machine.current
    if run.block is not None and current is not None and isinstance(current.context, Frame):
        return current.context.block.index
    return run.block


def _problem(error: SimtRuntimeFault, run: _Run) -> Diagnostic:
    op = error.op
    if op is None and run.frame is not None:
        op = run.frame.op
    location = None if op is None else op.location
    diagnostic = Diagnostic(Severity.ERROR, error.message, location, CODES[error.kind])
    for note in error.notes:
        position = None if note.op is None else note.op.location
        diagnostic.notes.append(Diagnostic(Severity.NOTE, note.text, position))
    return diagnostic


def _deadlock(error: Deadlock) -> Diagnostic:
    waiting = [each for each in error.blocked if each.wait.site is not None] or list(error.blocked)
    positions = [
        each.wait.site.location if isinstance(each.wait.site, Operation) else None
        for each in waiting
    ]
    diagnostic = Diagnostic(
        Severity.ERROR, f"deadlock: {waiting[0]}", positions[0], CODES["deadlock"]
    )
    for each, position in zip(waiting[1:], positions[1:], strict=True):
        diagnostic.notes.append(Diagnostic(Severity.NOTE, str(each), position))
    return diagnostic


def compile_simt(module: ModuleOp) -> SimtProgram:
    """A module at thread level, ready to run."""
    return SimtProgram(module)


__all__ = ["SimtProgram", "compile_simt"]
