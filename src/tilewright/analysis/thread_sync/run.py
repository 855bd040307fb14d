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

from tilewright.analysis.thread_sync import (
    async_units,
    control,
    groups,
    sync,
    tensor_core,
    threads,
)
from tilewright.analysis.thread_sync.arena import plan_arena
from tilewright.analysis.thread_sync.barriers import NamedBarrier, PhaseBarrier
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
from tilewright.analysis.thread_sync.state import BlockState, Budget, Frame, Steps, Triple, Wait
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
        blocks, tasks = _start(program, launch, budget, convergent)
        try:
            _run_all(tasks)
            for block in blocks:
                _check_end(block)
        except _DeadlockError as error:
            finer = divided(
                convergent, (each.threads for each in error.blocked if each.is_partial), unit
            )
            if finer is None:
                return error.fault, blocks
            convergent = finer
        except FaultError as error:
            return error.fault, blocks
        else:
            return None, blocks


def _start(
    program: Program, launch: Launch, budget: Budget, convergent: Sequence[Any]
) -> tuple[list[BlockState], list[_Task]]:
    """The blocks of a cluster and their convergent groups, in the initial state."""
    blocks: list[BlockState] = []
    tasks: list[_Task] = []
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
            tasks.append(_Task(frame, _follow(program.code, 0, frame, tasks)))
    return blocks, tasks


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


@dataclass(eq=False)
class _Task:
    """Threads that run independently of others."""

    frame: Frame
    steps: Steps
    wait: Wait | None = None
    is_over: bool = False

    def advance(self) -> None:
        self.wait = next(self.steps, None)
        self.is_over = self.wait is None


def _follow(code: CompiledCode, first: int, frame: Frame, tasks: list[_Task]) -> Steps:
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
                tasks.append(_Task(part, _role(body, code, position + 1, part, tasks)))
            return
    frame.flush()


def _role(
    body: CompiledCode | None, code: CompiledCode, first: int, frame: Frame, tasks: list[_Task]
) -> Steps:
    if body is not None:
        yield from body.process(frame)
    yield from _follow(code, first, frame, tasks)


def _run_all(tasks: list[_Task]) -> None:
    while True:
        moved = False
        for task in list(tasks):
            while not task.is_over and (task.wait is None or task.wait.is_over()):
                task.advance()
                moved = True
        if moved:
            continue
        blocked = [task.wait for task in tasks if task.wait is not None]
        if blocked:
            raise _DeadlockError(blocked)
        return


class _DeadlockError(FaultError):
    """Every task waits."""

    def __init__(self, blocked: Sequence[Wait]) -> None:
        super().__init__(_deadlock(blocked))
        self.blocked = blocked


# -- the end -----------------------------------------------------------------------------------


def _deadlock(blocked: Sequence[Wait]) -> SyncFault:
    """Why tasks wait forever: the report on the barrier that has advanced furthest."""
    for wait in blocked:
        barrier = wait.barrier
        if isinstance(barrier, PhaseBarrier) and not barrier.missing:
            try:
                barrier.check_bytes()
            except FaultError as error:
                found = error.fault
                return SyncFault(
                    found.kind, found.op, found.message, (*found.notes, *_notes(blocked))
                )
    for wait in blocked:
        barrier = wait.barrier
        if isinstance(barrier, PhaseBarrier) and barrier.came:
            counts = (
                f"is initialised with arrive count {barrier.count}, but {barrier.came} threads "
                "arrive"
            )
            return SyncFault(
                FaultKind.COUNT, barrier.op, f"{barrier.name} {counts}", _notes(blocked)
            )
    # A task at a named barrier mostly waits for the tasks that wait for a phase.
    first, *others = sorted(blocked, key=lambda each: isinstance(each.barrier, NamedBarrier))
    barrier = first.barrier
    text = f"deadlock: {_task_name(first)} {first.text}"
    if isinstance(barrier, NamedBarrier):
        text = f"{text}, but only {barrier.came} arrive"
    else:
        ended = len(barrier.phases)
        text = f"{text}, but only {ended} {'phase completes' if ended == 1 else 'phases complete'}"
    return SyncFault(FaultKind.DEADLOCK, first.op, text, _notes(others))


def _notes(blocked: Sequence[Wait]) -> tuple[tuple[Operation | None, str], ...]:
    return tuple((each.op, f"{_task_name(each)} {each.text}") for each in blocked)


def _task_name(wait: Wait) -> str:
    name, iterations = wait.frame.name or "the block", wait.frame.where()
    return f"{name}, in {iterations}," if iterations else name


def _check_end(block: BlockState) -> None:
    for barrier in block.all_barriers():
        barrier.check_bytes()
        barrier.check_overrun()
    for stores in block.stores:
        left: list[Any] = stores.all()
        if left:
            text = "the block exits while an in-flight bulk store may still read its shared memory"
            raise FaultError(SyncFault(FaultKind.IN_FLIGHT, left[0].op, text))
