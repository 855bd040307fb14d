"""Runs a block, or the blocks of a cluster, and reports its synchronisation errors.

Tasks are run sequentially, each until it has to wait. What a wait guarantees does not depend on
that order, so one order is enough. Where some threads of a task wait and block its others,
everything is run again with those as a separate convergent group (`convergence.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, IntegerAttr, IntegerType
from xdsl.ir import Operation

from tilewright.analysis.concurrency import BlockedTask, Deadlock, Machine, RunToBlock, Steps
from tilewright.analysis.thread_sync import (
    async_units,
    control,
    groups,
    sync,
    tensor_core,
    threads,
)
from tilewright.analysis.thread_sync.arena import plan_arena
from tilewright.analysis.thread_sync.barriers import PhaseBarrier, ThreadBarrier
from tilewright.analysis.thread_sync.clocks import GROUP
from tilewright.analysis.thread_sync.control import part_of
from tilewright.analysis.thread_sync.convergence import divided, name_of_group, one_group
from tilewright.analysis.thread_sync.faults import (
    FaultError,
    FaultKind,
    NotAnalysedError,
    SyncFault,
)
from tilewright.analysis.thread_sync.origins import Origin
from tilewright.analysis.thread_sync.program import Blocking, CompiledCode, Compiler, Rule
from tilewright.analysis.thread_sync.state import BlockState, Budget, Frame, Triple
from tilewright.analysis.thread_sync.values import Value
from tilewright.dialects.func import FuncOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.simt.target import warp_size_of
from tilewright.dialects.tile.extern import ExternOp
from tilewright.ir.traversal import walk

RULES: Mapping[str, Rule] = {
    **control.RULES,
    **threads.RULES,
    **sync.RULES,
    **groups.RULES,
    **async_units.RULES,
    **tensor_core.RULES,
}
SMALL = 1
"""An assumed value that is in bounds of every buffer that is indexed with it."""
_STEPS = 200_000
_STEPS_IN_FULL = 1_000_000
_THREADS = 128


@dataclass(eq=False)
class Program:
    """A kernel, ready to be run."""

    function: FuncOp
    code: CompiledCode
    compiler: Compiler
    threads: int
    cluster: Triple
    opaque: Operation | None
    """A call of external code, in which threads may synchronise."""

    def needs(self, name: str) -> bool:
        """Whether an op of this name is needed."""
        return any(op.name == name for op in self.compiler.effects)


def compile_kernel(function: FuncOp) -> Program:
    """The device function as Python functions."""
    accesses = [each for op in walk(function) for each in threads.access_bytes(op)]
    arena = plan_arena(function, accesses)
    compiler = Compiler(RULES, arena)
    compiler.choose(function)
    code = compiler.code(function.body.block)
    found = function.attributes.get(simt_names.THREADS)
    count = found.value.data if isinstance(found, IntegerAttr) else _THREADS
    calls = [op for op in walk(function) if isinstance(op, ExternOp) and op.pure is None]
    opaque = calls[0] if calls else None
    return Program(function, code, compiler, count, _cluster(function), opaque)


def _cluster(function: FuncOp) -> Triple:
    found = function.attributes.get(nv_names.CLUSTER)
    extents: tuple[int, ...] = ()
    if isinstance(found, DenseArrayBase):
        sizes = cast("DenseArrayBase[IntegerType]", found)  # cluster sizes are integers
        extents = tuple(int(each) for each in sizes.get_values())
    elif isinstance(found, ArrayAttr):
        extents = tuple(each.value.data for each in found.data if isinstance(each, IntegerAttr))
    x, y, z = (*extents, 1, 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class Launch:
    """The parameters of a run: a block of a grid, and values for the arguments of the kernel."""

    index: Triple = (0, 0, 0)
    grid: Triple = (1, 1, 1)
    arguments: Mapping[int, int] | None = None
    is_made_up: bool = False
    """Whether some of the values are assumed in place of run-time values."""
    elements_are_zero: bool = False
    """Whether elements of tensors are 0, the smallest index; otherwise they grow with their own."""

    @property
    def too_great(self) -> frozenset[Origin]:
        """Origins whose assumed values may exceed those of every caller."""
        elements = frozenset[Origin]() if self.elements_are_zero else frozenset((Origin.TENSOR,))
        if not self.is_made_up:
            return elements
        chosen = {
            Origin.BLOCK: max(self.index),
            Origin.GRID: max(self.grid),
            Origin.CALLER: max((self.arguments or {}).values(), default=0),
        }
        return elements | {each for each, largest in chosen.items() if largest > SMALL}


@dataclass(frozen=True)
class Outcome:
    """The result of a run."""

    fault: SyncFault | None
    skipped: Sequence[Operation]


def run(program: Program, launch: Launch) -> Outcome:
    """Run one block; an error that is found in a shortened run is confirmed by a full one."""
    budget = Budget(
        _STEPS,
        is_made_up=launch.is_made_up,
        too_great=launch.too_great,
        elements_are_zero=launch.elements_are_zero,
    )
    fault, blocks = _attempt(program, launch, budget)
    if fault is not None and any(any(known.values()) for known in budget.left_out.values()):
        # A full run that would take too long is not made: then the shortened one is final.
        with suppress(NotAnalysedError):
            whole = replace(budget, steps=_STEPS_IN_FULL, is_short=False, guess=None, left_out={})
            fault, blocks = _attempt(program, launch, whole)
    if fault is not None and program.opaque is not None:
        raise NotAnalysedError(program.opaque, "the effect of this external call is unknown")
    if fault is not None and budget.guess is not None:
        raise NotAnalysedError(budget.guess, "this branch or trip count is a run-time value")
    return Outcome(fault, [op for block in blocks for op in block.skipped])


def _attempt(
    program: Program, launch: Launch, budget: Budget
) -> tuple[SyncFault | None, list[BlockState]]:
    """One run; convergent groups are split for as long as that lets threads continue."""
    warp_size = warp_size_of(program.function)
    unit = GROUP * warp_size if program.needs("nv.wgmma") else warp_size
    convergent = one_group(program.threads)
    while True:
        blocks, machine = _start(program, launch, budget, convergent)
        try:
            machine.run()
            for block in blocks:
                _check_end(block)
        except Deadlock as deadlock:
            frames = [_frame(each) for each in deadlock.blocked]
            finer = divided(
                convergent, (f.tids[f.mask] for f in frames if f.mask is not None), unit
            )
            if finer is None:
                return _fault_of(deadlock), blocks
            convergent = finer
        except FaultError as error:
            return error.fault, blocks
        else:
            return None, blocks


def _start(
    program: Program, launch: Launch, budget: Budget, convergent: Sequence[Any]
) -> tuple[list[BlockState], Machine]:
    """The blocks of a cluster and their convergent groups, in the initial state."""
    blocks: list[BlockState] = []
    machine = Machine(schedule=RunToBlock())
    warp_size = warp_size_of(program.function)
    for rank in range(prod(program.cluster)):
        index = _member(launch.index, program.cluster, rank)
        arena, count = program.compiler.arena, program.threads
        block = BlockState(
            *(arena, count, warp_size, index, launch.grid, rank, blocks, budget),
            has_tensor_memory=program.needs("nv.tcgen05.alloc"),
            blocks=prod(program.cluster),
        )
        blocks.append(block)
    for block in blocks:
        for group in convergent:
            env = _values(program, launch)
            frame = Frame(block, group, env, name_of_group(group, convergent, ""))
            machine.spawn(frame.name, _follow(program.code, 0, frame, machine), context=frame)
    return blocks, machine


def _values(program: Program, launch: Launch) -> list[Value]:
    """The values of the initial state."""
    env: list[Value] = [None] * len(program.compiler.slots)
    for slot, value in program.compiler.constants.items():
        env[slot] = value
    for argument in program.function.body.block.args:
        if argument in program.compiler.slots and launch.arguments is not None:
            slot = program.compiler.slots[argument]
            env[slot] = launch.arguments.get(argument.index)
    return env


def _member(index: Triple, cluster: Triple, rank: int) -> Triple:
    """The block of a cluster, which begins at a multiple of its size."""
    x, y, _ = cluster
    inside = rank % x, rank // x % y, rank // (x * y)
    first, second, third = (
        each // size * size + offset
        for each, size, offset in zip(index, cluster, inside, strict=True)
    )
    return first, second, third


# -- tasks -------------------------------------------------------------------------------------


def _follow(code: CompiledCode, first: int, frame: Frame, machine: Machine) -> Steps:
    """Run a kernel from a step on; a warp-specialised region starts one task per role."""
    for position in range(first, len(code.steps)):
        step = code.steps[position]
        if isinstance(step, Blocking):
            yield from step.process(frame)
        else:
            step(frame)
        if frame.split:
            parts, frame.split = frame.split, ()
            for body, mask, name in parts:
                part = part_of(frame, mask, name)
                steps = _role(body, code, position + 1, part, machine)
                machine.spawn(name, steps, context=part)
            return
    frame.flush()


def _role(
    body: CompiledCode | None, code: CompiledCode, first: int, frame: Frame, machine: Machine
) -> Steps:
    if body is not None:
        yield from body.process(frame)
    yield from _follow(code, first, frame, machine)


# -- the end -----------------------------------------------------------------------------------


def _fault_of(deadlock: Deadlock) -> SyncFault:
    """Why tasks wait forever: the report on the barrier that has advanced furthest."""
    blocked = deadlock.blocked
    for each in blocked:
        barrier = each.wait.subject
        if isinstance(barrier, PhaseBarrier) and not barrier.pending:
            try:
                barrier.check_bytes()
            except FaultError as error:
                found = error.fault
                return SyncFault(
                    found.kind, found.op, found.message, (*found.notes, *_notes(blocked))
                )
    for each in blocked:
        barrier = each.wait.subject
        if isinstance(barrier, PhaseBarrier) and barrier.came:
            counts = (
                f"is initialised with arrive count {barrier.count}, but {barrier.came} threads "
                "arrive"
            )
            return SyncFault(
                FaultKind.COUNT, barrier.op, f"{barrier.name} {counts}", _notes(blocked)
            )
    # A task at a named barrier mostly waits for the tasks that wait for a phase.
    first, *others = sorted(blocked, key=lambda each: isinstance(each.wait.subject, ThreadBarrier))
    barrier, (op, text) = first.wait.subject, _note(first)
    if isinstance(barrier, ThreadBarrier):
        tail = f"but only {barrier.arrived} arrive"
    else:
        assert isinstance(barrier, PhaseBarrier), "tasks wait for barriers only"
        ended = barrier.phase
        tail = f"but only {ended} {'phase completes' if ended == 1 else 'phases complete'}"
    return SyncFault(FaultKind.DEADLOCK, op, f"deadlock: {text}, {tail}", _notes(others))


def _notes(blocked: Sequence[BlockedTask]) -> tuple[tuple[Operation | None, str], ...]:
    return tuple(_note(each) for each in blocked)


def _note(blocked: BlockedTask) -> tuple[Operation | None, str]:
    frame, op = _frame(blocked), blocked.wait.site
    name, iterations = frame.name or "the block", frame.where()
    name = f"{name}, in {iterations}," if iterations else name
    return op if isinstance(op, Operation) else None, f"{name} waits for {blocked.wait.what}"


def _frame(blocked: BlockedTask) -> Frame:
    frame = blocked.waiting.context
    assert isinstance(frame, Frame), "tasks are spawned with their frame"
    return frame


def _check_end(block: BlockState) -> None:
    for barrier in block.all_barriers():
        barrier.check_bytes()
        barrier.check_overrun()
    for stores in block.stores:
        left = [*stores.open, *stores.older(0)]
        if left:
            text = "the block exits while an in-flight bulk store may still read its shared memory"
            raise FaultError(SyncFault(FaultKind.IN_FLIGHT, left[0].op, text))
