"""Ops on whole tiles: reductions, scans, histograms; ``gemms`` has the GEMMs."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Block, Operation, Region, SSAValue

from tilewright.analysis.arg_reduce import is_arg_reduce
from tilewright.analysis.raising.combiners import ReduceKind, reduce_kind, scan_kind
from tilewright.analysis.raising.constants import splat_attribute
from tilewright.analysis.raising.slots import Slot
from tilewright.dialects.arith import CmpfOp, CmpiOp, ConstantOp, SelectOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.tile import AtomicOp, FillOp
from tilewright.dialects.tile import ReduceOp as TileReduceOp
from tilewright.dialects.tile import ScanOp as TileScanOp
from tilewright.dialects.tile.combiners import ReduceByOp, ReturnOp, ScanByOp
from tilewright.dialects.tt import HistogramOp, ReduceOp, ScanOp
from tilewright.dialects.type_utils import bit_width, element_type_of, is_tensor, shape_of
from tilewright.passes.raising.accesses import when
from tilewright.passes.raising.expressions import Point, element
from tilewright.passes.raising.gemms import emit_dot, emit_scaled_dot, emit_task_dot
from tilewright.passes.raising.groups import Work, flush, submit
from tilewright.passes.raising.moves import accesses_of, as_buffer, store_to
from tilewright.passes.raising.scalar_ops import element_of
from tilewright.passes.raising.state import Raising


def emit_reduce(state: Raising, op: Operation) -> None:
    assert isinstance(op, ReduceOp)
    is_largest = is_arg_reduce(op.combiner)
    if is_largest is not None:
        _emit_arg_reduce(state, op, is_largest)
        return
    kind = reduce_kind(op)
    if kind is None:
        _emit_reduce_by(state, op)
        return
    source = as_buffer(state, op.operands[0], op)
    _reduce(state, op, source, kind, op.results[0])


def _reduce(
    state: Raising, op: ReduceOp, source: SSAValue, kind: ReduceKind, result: SSAValue
) -> Slot:
    """Reduce a buffer to the buffer of a result; a scalar is read from there."""
    slot = _slot_of(state, result)
    target = state.buffer(slot)
    state.at.add(
        TileReduceOp(source, target, kind.name, op.axis_index, nan_propagate=kind.propagates_nan)
    )
    _read_scalar(state, slot, result)
    return slot


def _slot_of(state: Raising, result: SSAValue) -> Slot:
    """The buffer of a reduced tensor; one of its own for a scalar."""
    slot = state.slot(result)
    if slot is not None:
        return slot
    return Slot((1,), element_type_of(result.type), name=result.name_hint or "total")


def _read_scalar(state: Raising, slot: Slot, result: SSAValue) -> None:
    if not is_tensor(result.type):
        zero = state.at.index(0)
        value = state.at.value(LoadOp(state.buffer(slot), [zero]), result.name_hint)
        state.scalars[result] = value


def _emit_reduce_by(state: Raising, op: ReduceOp) -> None:
    """All tensors at once, by the combiner as it is."""
    sources = [as_buffer(state, each, op) for each in op.operands]
    slots = [_slot_of(state, result) for result in op.results]
    targets = [state.buffer(slot) for slot in slots]
    state.at.add(ReduceByOp(sources, targets, op.axis_index, _combiner(state, op)))
    for slot, result in zip(slots, op.results, strict=True):
        _read_scalar(state, slot, result)


def _combiner(state: Raising, op: ReduceOp | ScanOp) -> Region:
    """The combiner on elements."""
    source = op.combiner
    block = Block(arg_types=[argument.type for argument in source.args])
    at = state.at.inside(block)
    values: dict[SSAValue, SSAValue] = dict(zip(source.args, block.args, strict=True))

    def value_of(operand: SSAValue) -> SSAValue:
        found = values.get(operand)
        return state.scalar(operand) if found is None else found

    end = source.last_op
    assert end is not None
    for inner in source.ops:
        at.origin = inner
        if inner is end:
            at.add(ReturnOp(*map(value_of, end.operands)))
        elif isinstance(inner, ConstantOp):
            attribute = splat_attribute(inner)
            assert attribute is not None
            values[inner.result] = at.value(ConstantOp(attribute))
        else:
            operands = [value_of(operand) for operand in inner.operands]
            for result in inner.results:
                values[result] = element_of(at, inner, operands, result.index)
    return Region(block)


def _emit_arg_reduce(state: Raising, op: ReduceOp, is_largest: bool) -> None:
    """The greatest (least) value, then the least index of an element that is not less (greater)."""
    values, indices = op.operands
    source = as_buffer(state, values, op)
    best = _reduce(state, op, source, ReduceKind("max" if is_largest else "min"), op.results[0])
    type = element_type_of(indices.type)
    largest = (1 << (bit_width(type) - 1)) - 1
    found = Slot(shape_of(values.type), type, name="candidates")
    axis = op.axis_index

    def run(point: Point, at: tuple[SSAValue, ...]) -> None:
        value = element(state, values, at, point)
        reduced = [*at[:axis], *at[axis + 1 :]] or [point.at.index(0)]
        limit = point.at.value(LoadOp(state.buffer(best), reduced))
        is_best = point.at.value(_not_worse(value, limit, is_largest))
        index = element(state, indices, at, point)
        other = point.at.constant(largest, type)
        store_to(state, found, point.at.value(SelectOp(is_best, index, other)), at, point)

    reads, loads = accesses_of(state, [(values, False), (indices, False)])
    reads = (*reads, (op.results[0], best, False))
    submit(state, Work(op, found.shape, run, reads, (found,), (), loads))
    flush(state)
    _reduce(state, op, state.buffer(found), ReduceKind("min"), op.results[1])


def _not_worse(value: SSAValue, limit: SSAValue, is_largest: bool) -> Operation:
    """Whether an element is the best; NaN compares as if it were, so that there always is one."""
    if isinstance(value.type, AnyFloat):
        return CmpfOp("uge" if is_largest else "ule", value, limit)
    return CmpiOp("sge" if is_largest else "sle", value, limit)


def emit_scan(state: Raising, op: Operation) -> None:
    assert isinstance(op, ScanOp)
    kind, reverse = scan_kind(op), bool(op.reverse.value.data)
    sources = [as_buffer(state, each, op) for each in op.operands]
    slots = [state.slot(result) for result in op.results]
    targets = [state.buffer(slot) for slot in slots if slot is not None]
    if kind is None:
        made: Operation = ScanByOp(
            sources, targets, op.axis_index, _combiner(state, op), reverse=reverse
        )
    else:
        made = TileScanOp(sources[0], targets[0], kind, op.axis_index, reverse=reverse)
    state.at.add(made)


def emit_histogram(state: Raising, op: Operation) -> None:
    """Counts in shared memory."""
    assert isinstance(op, HistogramOp)
    flush(state)
    slot = state.slot(op.results[0])
    assert slot is not None
    counts = state.buffer(slot)
    state.at.add(FillOp(counts, state.at.constant(0, slot.element)))
    source, mask = op.operands[0], op.operands[1] if len(op.operands) > 1 else None

    def run(point: Point, indices: tuple[SSAValue, ...]) -> None:
        value = element(state, source, indices, point)
        holds = None if mask is None else element(state, mask, indices, point)
        where = point.at.to_index(value)
        one = point.at.constant(1, slot.element)
        when(point.at, holds, lambda at: ignore(at.add(AtomicOp("add", counts, [where], one))))

    reads, loads = accesses_of(state, [(operand, False) for operand in op.operands])
    submit(state, Work(op, shape_of(source.type), run, reads, (slot,), (), loads))
    flush(state)


def ignore(_: object) -> None:
    """Drop a result."""


EMITTERS = {
    "tt.reduce": emit_reduce,
    "tt.scan": emit_scan,
    "tt.histogram": emit_histogram,
    "tt.dot": emit_dot,
    "tt.dot_scaled": emit_scaled_dot,
    "ttng.warp_group_dot": emit_task_dot,
}
