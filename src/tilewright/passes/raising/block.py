"""The ops of a block, in order: one rule for each kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from xdsl.dialects.builtin import i32
from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.analysis.raising.constants import splat_attribute
from tilewright.analysis.raising.kinds import (
    DROPPED,
    POINTERS,
    STRUCTURAL,
    TERMINATORS,
    is_data_tensor,
    is_elementwise,
    is_pointer,
)
from tilewright.analysis.raising.regions import stored_value
from tilewright.analysis.raising.slots import Slot
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.nv import GridTriggerOp, GridWaitOp
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tile import AssertOp as TileAssertOp
from tilewright.dialects.tile import PrintOp as TilePrintOp
from tilewright.dialects.tile import SyncOp
from tilewright.dialects.tt import (
    AssertOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    PrintOp,
    StoreOp,
    UnsplatOp,
)
from tilewright.dialects.ttg import WarpSpecializeOp
from tilewright.dialects.type_utils import is_tensor, shape_of
from tilewright.passes.raising.accesses import load_element, store_element
from tilewright.passes.raising.atomics import EMITTERS as ATOMIC_EMITTERS
from tilewright.passes.raising.control import emit_for, emit_if, emit_while
from tilewright.passes.raising.expressions import Point, element
from tilewright.passes.raising.groups import Work, flush, submit
from tilewright.passes.raising.local import emit_local
from tilewright.passes.raising.moves import accesses_of, as_buffer, compute
from tilewright.passes.raising.regions import copy_in, copy_out
from tilewright.passes.raising.rows import scatter_element
from tilewright.passes.raising.scalar_ops import element_of
from tilewright.passes.raising.state import Raising
from tilewright.passes.raising.tasks import EMITTERS as TASK_EMITTERS
from tilewright.passes.raising.tasks import emit_tasks
from tilewright.passes.raising.tiles import EMITTERS as TILE_EMITTERS
from tilewright.passes.raising.writes import write


def emit_ops(state: Raising, ops: Iterable[Operation]) -> None:
    """Raise ops of a block, in order; its terminator has no code."""
    for op in ops:
        state.on_behalf_of(op)
        if state.missing_views or state.missing_bases:
            emit_local(state)
        _emit(state, op)


def _emit(state: Raising, op: Operation) -> None:
    rule = RULES.get(op.name)
    if rule is not None:
        rule(state, op)
    elif (
        op.name in TERMINATORS
        or op.name in POINTERS
        or op.name in DROPPED
        or any(is_pointer(result) for result in op.results)
    ):
        return
    elif is_elementwise(op) or op.name in STRUCTURAL:
        _emit_values(state, op)
    else:
        raise AssertionError(f"'{op.name}' has no rule, and was not refused")


def _emit_values(state: Raising, op: Operation) -> None:
    for result in op.results:
        if is_data_tensor(result):
            if state.slot(result) is not None:
                compute(state, op, result)
        elif isinstance(op, ConstantOp):
            attribute = splat_attribute(op)
            assert attribute is not None
            state.scalars[result] = state.at.value(ConstantOp(attribute), result.name_hint)
        elif op.name == "ub.poison":
            state.scalars[result] = state.at.constant(0, result.type)
        else:
            operands = [state.scalar(operand) for operand in op.operands]
            state.scalars[result] = element_of(state.at, op, operands, result.index)


# The grid.


def _program_id(state: Raising, op: Operation) -> None:
    assert isinstance(op, GetProgramIdOp)
    value = state.at.from_index(state.symbols.programs[op.dimension], i32)
    value.name_hint = op.result.name_hint
    state.scalars[op.result] = value


def _num_programs(state: Raising, op: Operation) -> None:
    assert isinstance(op, GetNumProgramsOp)
    state.scalars[op.result] = state.at.from_index(state.symbols.grid[op.dimension], i32)


# Memory.


def _load(state: Raising, op: Operation) -> None:
    (result,) = op.results
    if is_tensor(result.type):
        slot = state.slot(result)
        if slot is not None:
            _load_tile(state, op, result, slot)
        return
    flush(state)
    point = Point(state.at, state.at)
    state.scalars[result] = load_element(state, result, (), point)


def _load_tile(state: Raising, op: Operation, result: OpResult, slot: Slot) -> None:
    access = state.plan.accesses[op]
    if op in state.plan.copies:
        copy_in(state, op, access, slot)
    else:
        compute(state, op, result)


def _store(state: Raising, op: Operation) -> None:
    assert isinstance(op, StoreOp)
    if _store_tile(state, op):
        return
    write(state, op, op.value, lambda point, at: store_element(state, op, op.value, at, point))


def _descriptor_store(state: Raising, op: Operation) -> None:
    assert isinstance(op, DescriptorStoreOp)
    if _store_tile(state, op):
        return
    write(state, op, op.src, lambda point, at: store_element(state, op, op.src, at, point))


def _store_tile(state: Raising, op: Operation) -> bool:
    """Store a whole buffer; false if the store is done element by element."""
    if op not in state.plan.copies:
        return False
    slot = state.slot(stored_value(op))
    assert slot is not None
    copy_out(state, op, state.plan.accesses[op], slot)
    return True


def _descriptor_scatter(state: Raising, op: Operation) -> None:
    assert isinstance(op, DescriptorScatterOp)
    write(state, op, op.src, lambda point, at: scatter_element(state, op, at, point))


def _atomic_load(state: Raising, op: Operation) -> None:
    _load(state, op)
    flush(state)


# Checks and output.


def _assert(state: Raising, op: Operation) -> None:
    assert isinstance(op, AssertOp)
    condition, message = op.condition, op.message.data
    if not is_tensor(condition.type):
        flush(state)
        state.at.add(TileAssertOp(state.scalar(condition), message))
        return

    def run(point: Point, indices: tuple[SSAValue, ...]) -> None:
        holds = element(state, condition, indices, point)
        point.at.add(TileAssertOp(holds, message))

    reads, loads = accesses_of(state, [(condition, False)])
    submit(state, Work(op, shape_of(condition.type), run, reads, (), (), loads))


def _print(state: Raising, op: Operation) -> None:
    assert isinstance(op, PrintOp)
    values = [
        as_buffer(state, each, op) if is_tensor(each.type) else state.scalar(each)
        for each in op.args
    ]
    flush(state)
    state.at.add(TilePrintOp(op.prefix.data, values))


def _barrier(state: Raising, op: Operation) -> None:
    flush(state)
    state.at.add(SyncOp())


def _wait_for_grids(state: Raising, op: Operation) -> None:
    flush(state)
    state.at.add(GridWaitOp())


def _let_grids_begin(state: Raising, op: Operation) -> None:
    flush(state)
    state.at.add(GridTriggerOp())


def _unsplat(state: Raising, op: Operation) -> None:
    assert isinstance(op, UnsplatOp)
    flush(state)
    indices = tuple(0 for _ in shape_of(op.src.type))
    point = Point(state.at, state.at)
    state.scalars[op.result] = element(state, op.src, indices, point)


# Control flow and tiles.


def _for(state: Raising, op: Operation) -> None:
    assert isinstance(op, ForOp)
    emit_for(state, op, emit_ops)


def _if(state: Raising, op: Operation) -> None:
    assert isinstance(op, IfOp)
    emit_if(state, op, emit_ops)


def _while(state: Raising, op: Operation) -> None:
    assert isinstance(op, WhileOp)
    emit_while(state, op, emit_ops)


def _tasks(state: Raising, op: Operation) -> None:
    assert isinstance(op, WarpSpecializeOp)
    emit_tasks(state, op, emit_ops)


def _gather(state: Raising, op: Operation) -> None:
    result = op.results[0]
    if state.slot(result) is not None:
        compute(state, op, result)
    flush(state)


Rule = Callable[[Raising, Operation], None]

RULES: Mapping[str, Rule] = {
    **TILE_EMITTERS,
    **ATOMIC_EMITTERS,
    **TASK_EMITTERS,
    "tt.gather": _gather,
    "tt.get_program_id": _program_id,
    "tt.get_num_programs": _num_programs,
    "tt.load": _load,
    "tt.descriptor_load": _load,
    "tt.store": _store,
    "tt.descriptor_store": _descriptor_store,
    "tt.descriptor_gather": _load,
    "tt.descriptor_scatter": _descriptor_scatter,
    "tt.atomic_load": _atomic_load,
    "tt.assert": _assert,
    "tt.print": _print,
    "tt.unsplat": _unsplat,
    "ttg.barrier": _barrier,
    "gpu.barrier": _barrier,
    "tt.grid_dependency_wait": _wait_for_grids,
    "tt.grid_dependency_launch_dependents": _let_grids_begin,
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "ttg.warp_specialize": _tasks,
}
