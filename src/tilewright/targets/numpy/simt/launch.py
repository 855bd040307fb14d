"""One launch: the host function, and the blocks of each kernel it launches, one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd, prod
from time import perf_counter
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from tilewright.dialects.func import FuncOp
from tilewright.dialects.memref import LoadOp, StoreOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.nv.across import LaunchOp
from tilewright.dialects.nv.cache import HintedLoadOp, HintedStoreOp
from tilewright.dialects.nv.matrix import WgmmaOp
from tilewright.dialects.nv.moves import MoveOp
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.atomics import AtomicOp
from tilewright.dialects.tile.kernel import KernelOp
from tilewright.dialects.tile.warps import WsOp
from tilewright.dialects.type_utils import bit_width, num_elements
from tilewright.ir.diagnostics import Diagnostic, Severity
from tilewright.memory.units import element_bytes
from tilewright.targets.numpy.api import Buffer, Grid
from tilewright.targets.numpy.machine import Deadlock, Machine
from tilewright.targets.numpy.simt import control, copies, lanes, memory, products, sync
from tilewright.targets.numpy.simt.api import CODES, FaultKind, SimtFault, SimtOptions, SimtReport
from tilewright.targets.numpy.simt.buffers import GlobalBuffer
from tilewright.targets.numpy.simt.problems import Problem
from tilewright.targets.numpy.simt.program import Act, Code, Compiler, Rule
from tilewright.targets.numpy.simt.scalars import type_of
from tilewright.targets.numpy.simt.state import BlockRun, Frame

_BARRIER_BYTES = 8
_ARENA_STEP = 1024
_DEFAULT_THREADS = 128


class _Rules(Mapping[str, Rule]):
    """The table of all ops; arithmetic has one rule for all."""

    def __init__(self, special: Mapping[str, Rule]) -> None:
        self.special = special

    def __getitem__(self, name: str) -> Rule:
        found = self.special.get(name)
        if found is not None:
            return found
        if name.startswith(("arith.", "math.")):
            return control.scalar_rule
        raise KeyError(name)

    def __iter__(self) -> Any:
        return iter(self.special)

    def __len__(self) -> int:
        return len(self.special)


DEVICE = _Rules(
    {
        **control.RULES,
        **memory.RULES,
        **sync.RULES,
        **copies.RULES,
        **products.RULES,
        **lanes.RULES,
    }
)


@dataclass(eq=False)
class Kernel:
    """A device function, compiled."""

    code: Code
    compiler: Compiler
    arguments: list[int]
    threads: int
    shared_bytes: int
    granule: int
    cluster: Grid
    watched: frozenset[int]
    """Positions of tensors that it reads and writes."""
    unit: int
    """Threads that may run in step."""


def compile_kernel(function: FuncOp) -> Kernel:
    """The device function as Python functions."""
    threads = _number(function, nv_names.THREADS, _DEFAULT_THREADS)
    return _compiled(function, function.body.block, Compiler(DEVICE), threads)


def _compiled(op: Operation, block: Block, compiler: Compiler, threads: int) -> Kernel:
    compiler.tracked = _tracked(op)
    compiler.has_init = any(each.name == "nv.mbarrier.init" for each in op.walk())
    shared = _place(op, compiler)
    arguments = compiler.all_slots(block.args)
    code = compiler.code(block)
    sizes = [
        element_bytes(bit_width(each.result.type))
        for each in op.walk()
        if isinstance(each, AllocOp) and each.space.is_shared and not each.space.is_barrier
    ]
    granule = max(1, min([*sizes, _BARRIER_BYTES]))
    watched = frozenset(n for n, each in enumerate(block.args) if _is_read_and_written(each))
    return Kernel(
        code,
        compiler,
        arguments,
        threads,
        shared,
        granule,
        _cluster(op),
        watched,
        _unit(op, threads),
    )


def _unit(op: Operation, threads: int) -> int:
    """Threads that may run in step: all, unless roles are written one after the other.

    Those run side by side all the same, so that one may wait for what a later one does.
    """
    if sum(isinstance(each, WsOp) for each in op.walk()) < 2:
        return threads
    ranges = [
        bound
        for each in op.walk()
        if isinstance(each, WsOp)
        for role in each.roles
        for span in role.ranges
        for bound in span
    ]
    return gcd(threads, *ranges)


def _is_read_and_written(argument: SSAValue) -> bool:
    """By threads, and not by atomics, which are in order by themselves."""
    reads = writes = False
    for use in argument.uses:
        op = use.operation
        if isinstance(op, AtomicOp):
            return False
        is_move = isinstance(op, MoveOp)
        reads |= isinstance(op, LoadOp | HintedLoadOp) or (is_move and op.src is argument)
        writes |= isinstance(op, StoreOp | HintedStoreOp) or (is_move and op.dst is argument)
    return reads and writes


def _cluster(op: Operation) -> Grid:
    found = op.cluster if isinstance(op, KernelOp) else op.attributes.get(nv_names.CLUSTER)
    extents: tuple[int, ...] = ()
    if isinstance(found, DenseArrayBase):
        extents = tuple(int(each) for each in found.get_values())
    elif isinstance(found, ArrayAttr):
        extents = tuple(each.value.data for each in found.data if isinstance(each, IntegerAttr))
    x, y, z = (*extents, 1, 1, 1)[:3]
    return x, y, z


def _tracked(function: Operation) -> set[SSAValue]:
    """Registers that asynchronous products read or write."""
    found: set[SSAValue] = set()
    for op in function.walk():
        if isinstance(op, WgmmaOp):
            found.add(op.acc)
            if op.a_index is not None:
                found.add(op.a)
    return found


def _place(function: Operation, compiler: Compiler) -> int:
    """Where shared buffers lie; those without an offset come one after another."""
    top = _number(function, nv_names.SHARED_BYTES, 0)
    for op in function.walk():
        if not isinstance(op, AllocOp) or op.space.is_per_thread:
            continue
        if op.offset_bytes is not None:
            compiler.offsets[op] = op.offset_bytes
            continue
        compiler.offsets[op] = top = -(-top // _ARENA_STEP) * _ARENA_STEP
        size = _BARRIER_BYTES if op.space.is_barrier else element_bytes(bit_width(op.result.type))
        top += num_elements(op.result.type) * size
    return top


def _number(function: Operation, name: str, default: int) -> int:
    found = function.attributes.get(name)
    return found.value.data if isinstance(found, IntegerAttr) else default


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
            if nv_names.KERNEL in op.attributes
        }
        hosts = [op for op in functions if nv_names.KERNEL not in op.attributes]
        if len(hosts) != 1:
            raise ValueError(f"a module has one host function, this one has {len(hosts)}")
        self.host = hosts[0]

    def launch(self, arguments: Sequence[Any], options: SimtOptions | None = None) -> SimtReport:
        """Run under each schedule; arrays are changed in place, by the last one."""
        options = options or SimtOptions()
        report = SimtReport()
        started = perf_counter()
        arrays = [each.array for each in arguments if isinstance(each, Buffer)]
        before = [array.copy() for array in arrays]
        for seed in range(options.seed, options.seed + options.schedules):
            for array, old in zip(arrays, before, strict=True):
                array[...] = old
            run = _Run(self, options, seed)
            try:
                with np.errstate(all="ignore"):
                    run.host(arguments)
            except (Problem, Deadlock) as error:
                raise _fault(error, run) from error
            report.blocks += run.blocks
            report.schedules += 1
        report.seconds = perf_counter() - started
        return report


class _Run:
    """One run under one schedule."""

    def __init__(self, program: SimtProgram, options: SimtOptions, seed: int) -> None:
        self.program, self.options, self.seed = program, options, seed
        self.block: Grid | None = None
        self.blocks = 0
        self.machine: Machine | None = None
        self.frame: Frame | None = None

    def host(self, arguments: Sequence[Any]) -> None:
        """What the host does, as a block of one thread."""
        host_rules = {"nv.launch": self._launch_rule, "tile.kernel": self._kernel_rule}
        rules = _Rules({**DEVICE.special, **host_rules})
        compiler = Compiler(rules)
        body = self.program.host.body.block
        slots = compiler.all_slots(body.args)
        code = compiler.code(body)
        machine = Machine()
        block = BlockRun((0, 0, 0), (1, 1, 1), 1, machine, self.options, np.zeros(0, np.uint8))
        frame = Frame(block, np.zeros(1, np.int64), [None] * len(compiler.slots), "host")
        for slot, argument, given in zip(slots, body.args, arguments, strict=True):
            frame.env[slot] = _argument(argument, given)
        self.frame = frame
        code.run(frame)

    def _launch_rule(self, compiler: Compiler, op: Operation) -> Act:
        assert isinstance(op, LaunchOp)
        kernel = self.program.kernels[op.kernel.root_reference.data]
        grid, passed = compiler.all_slots(op.grid), compiler.all_slots(op.arguments)

        def act(frame: Frame) -> None:
            x, y, z = (int(frame.env[each]) for each in grid)
            given = [frame.env[each] for each in passed]
            for number in kernel.watched:
                given[number] = given[number].watched()
            self._launch(kernel, (x, y, z), given)

        return act

    def _kernel_rule(self, compiler: Compiler, op: Operation) -> Act:
        """A kernel that has not been outlined: its body sees what the host computed."""
        assert isinstance(op, KernelOp)
        kernel = _compiled(op, op.body.block, compiler, op.num_threads or _DEFAULT_THREADS)
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
        for indices in _clusters(grid, kernel.cluster, self.options.blocks):
            self._run_cluster(kernel, indices, grid, arguments, outside)
        self.block = None

    def _run_cluster(
        self,
        kernel: Kernel,
        indices: Sequence[Grid],
        grid: Grid,
        arguments: Sequence[Any] | None,
        outside: Sequence[Any],
    ) -> None:
        """Blocks that run at the same time, and may reach into each other."""
        machine = self.machine = Machine(self.seed)
        size = -(-kernel.shared_bytes // 16) * 16
        cluster: list[BlockRun] = []
        for rank, index in enumerate(indices):
            arena = np.full(size, 0xA5, np.uint8)
            block = BlockRun(
                index, grid, kernel.threads, machine, self.options, arena, kernel.granule, rank=rank
            )
            cluster.append(block)
            block.cluster = cluster
        for block in cluster:
            self.blocks += 1
            self.block = block.index
            numbers = [np.int64(each) for each in block.index[: len(kernel.arguments)]]
            self._spawn(kernel, block, numbers if arguments is None else arguments, outside)
        machine.run()
        for block in cluster:
            self._check_end(block)

    def _spawn(
        self, kernel: Kernel, block: BlockRun, arguments: Sequence[Any], outside: Sequence[Any]
    ) -> None:
        unit = self.options.unit or kernel.unit
        for first in range(0, kernel.threads, unit):
            env = [*outside, *[None] * (len(kernel.compiler.slots) - len(outside))]
            frame = Frame(block, block.all_threads[first : first + unit], env)
            for slot, value in zip(kernel.arguments, arguments, strict=True):
                frame.env[slot] = value
            self.frame = frame
            block.machine.spawn("block", kernel.code.process(frame), unit, context=frame)

    def _check_end(self, block: BlockRun) -> None:
        if not self.options.checked:
            return
        for groups in block.stores:
            left = [*groups.open, *groups.older(0)]
            if left:
                place = left[0].place
                raise Problem(
                    "in flight",
                    "the block ends while a bulk store may still read its shared memory; "
                    "nv.tma_store.wait has to come first",
                    place if isinstance(place, Operation) else None,
                )


def _clusters(grid: Grid, cluster: Grid, count: int | None) -> Iterator[list[Grid]]:
    """Clusters of blocks, x fastest: all, or some from the first to the last."""
    wide = [-(-extent // size) for extent, size in zip(grid, cluster, strict=True)]
    total = prod(wide)
    numbers: Any = range(total)
    if count is not None and count < total:
        numbers = np.unique(np.linspace(0, total - 1, count, dtype=np.int64))
    for number in numbers:
        corner = _unravelled(int(number), wide)
        yield [
            _shifted(corner, cluster, _unravelled(rank, cluster)) for rank in range(prod(cluster))
        ]


def _unravelled(number: int, extents: Sequence[int]) -> Grid:
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)


def _shifted(corner: Grid, cluster: Grid, inside: Grid) -> Grid:
    x, y, z = (a * size + b for a, size, b in zip(corner, cluster, inside, strict=True))
    return x, y, z


def _argument(argument: SSAValue, given: Any) -> Any:
    if isinstance(given, Buffer):
        # Integers of the IR have no sign: unsigned ones are looked at as signed.
        array = given.array.view(type_of(argument).dtype)
        return GlobalBuffer(given.name, _flat(array), array)
    return type_of(argument).dtype.type(given)


def _flat(array: Any) -> Any:
    """The memory behind an array, from its first element to its last."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    reach = sum(
        (extent - 1) * stride for extent, stride in zip(array.shape, array.strides, strict=True)
    )
    count = reach // array.itemsize + 1 if array.size else 0
    return np.lib.stride_tricks.as_strided(array, (count,), (array.itemsize,))


# -- faults ------------------------------------------------------------------------------------


def _fault(error: Problem | Deadlock, run: _Run) -> SimtFault:
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


def _problem(error: Problem, run: _Run) -> Diagnostic:
    op = error.op
    if op is None and run.frame is not None:
        op = run.frame.op
    location = None if op is None else op.location
    diagnostic = Diagnostic(Severity.ERROR, error.message, location, CODES[error.kind])
    for note in error.notes:
        place = None if note.op is None else note.op.location
        diagnostic.notes.append(Diagnostic(Severity.NOTE, note.text, place))
    return diagnostic


def _deadlock(error: Deadlock) -> Diagnostic:
    stuck = [each for each in error.stuck if each.wait.place is not None] or list(error.stuck)
    places = [
        each.wait.place.location if isinstance(each.wait.place, Operation) else None
        for each in stuck
    ]
    diagnostic = Diagnostic(Severity.ERROR, f"deadlock: {stuck[0]}", places[0], CODES["deadlock"])
    for each, place in zip(stuck[1:], places[1:], strict=True):
        diagnostic.notes.append(Diagnostic(Severity.NOTE, str(each), place))
    return diagnostic


def compile_simt(module: ModuleOp) -> SimtProgram:
    """A module at thread level, ready to run."""
    return SimtProgram(module)


__all__ = ["SimtProgram", "compile_simt"]
