"""Ops on whole tiles: GEMMs, reductions, scans, histograms."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.arg_reduce import is_arg_reduce
from tilewright.analysis.raising.combiners import ReduceKind, reduce_kind, scan_kind
from tilewright.analysis.raising.constants import is_zero
from tilewright.analysis.raising.slots import Slot
from tilewright.dialects.arith import CmpfOp, CmpiOp, SelectOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.tile import AtomicOp, FillOp, GemmOp
from tilewright.dialects.tile import ReduceOp as TileReduceOp
from tilewright.dialects.tile import ScanOp as TileScanOp
from tilewright.dialects.tt import DotOp, HistogramOp, ReduceOp, ScanOp, TransOp
from tilewright.dialects.type_utils import bit_width, element_type_of, is_tensor, shape_of
from tilewright.passes.raising.accesses import when
from tilewright.passes.raising.expressions import Point, element
from tilewright.passes.raising.groups import Work, flush, submit
from tilewright.passes.raising.moves import accesses_of, as_buffer, assign, store_to
from tilewright.passes.raising.state import Raising


def emit_reduce(state: Raising, op: Operation) -> None:
    assert isinstance(op, ReduceOp)
    is_largest = is_arg_reduce(op.combiner)
    if is_largest is not None:
        _emit_arg_reduce(state, op, is_largest)
        return
    kind = reduce_kind(op)
    assert kind is not None
    source = as_buffer(state, op.operands[0], op)
    _reduce(state, op, source, kind, op.results[0])


def _reduce(
    state: Raising, op: ReduceOp, source: SSAValue, kind: ReduceKind, result: SSAValue
) -> Slot:
    """Reduce a buffer to the buffer of a result; a scalar is read from there."""
    slot = state.slot(result)
    if slot is None:
        name = result.name_hint or "total"
        slot = Slot((1,), element_type_of(result.type), name=name)
    target = state.buffer(slot)
    state.at.add(
        TileReduceOp(source, target, kind.name, op.axis_index, nan_propagate=kind.propagates_nan)
    )
    if not is_tensor(result.type):
        zero = state.at.index(0)
        state.scalars[result] = state.at.value(LoadOp(target, [zero]), result.name_hint)
    return slot


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
    kind = scan_kind(op)
    assert kind is not None
    source = as_buffer(state, op.operands[0], op)
    slot = state.slot(op.results[0])
    assert slot is not None
    reverse = bool(op.reverse.value.data)
    state.at.add(TileScanOp(source, state.buffer(slot), kind, op.axis_index, reverse=reverse))


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


# GEMMs.


def emit_dot(state: Raising, op: Operation) -> None:
    assert isinstance(op, DotOp)
    slot = state.slot(op.d)
    assert slot is not None
    if len(slot.shape) > 2:
        emit_batch(state, op, slot)
        return
    is_clear = is_zero(op.c)
    if not is_clear and state.slot(op.c) is not slot:
        assign(state, op, [(slot, op.c)])
    a, transpose_a = _operand(state, op, op.a, is_b=False)
    b, transpose_b = _operand(state, op, op.b, is_b=True)
    flush(state)
    state.at.add(
        GemmOp(
            a,
            b,
            state.buffer(slot),
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            clear=is_clear,
            policy=_policy(state, op),
        )
    )


def _operand(state: Raising, op: DotOp, value: SSAValue, *, is_b: bool) -> tuple[SSAValue, bool]:
    """The buffer of an operand, and whether it is transposed there."""
    swapped = False
    source = value
    while isinstance(source.owner, TransOp) and state.slot(source) is None:
        source, swapped = source.owner.src, not swapped
    slot = state.slot(source)
    if slot is not None and (slot.is_shared or (not is_b and not swapped)):
        return as_buffer(state, source, op), swapped != slot.is_transposed
    staged = Slot(shape_of(value.type), element_type_of(value.type), True, name="staged")
    key = f"{value.name_hint or 'operand'}_shared"
    staged.name = key
    assign(state, op, [(staged, value)])
    return state.buffer(staged), False


def emit_batch(state: Raising, op: DotOp, slot: Slot) -> None:
    """A GEMM for each matrix of a batch, through buffers of one matrix."""
    batch, rows, columns = slot.shape
    depth = shape_of(op.a.type)[2]
    a_type, b_type = element_type_of(op.a.type), element_type_of(op.b.type)
    is_clear = is_zero(op.c)
    a = Slot((rows, depth), a_type, is_shared=True, name="batch_a")
    b = Slot((depth, columns), b_type, is_shared=True, name="batch_b")
    c = Slot((rows, columns), slot.element, name="batch_c")
    for index in range(batch):
        _move_slice(state, op, op.a, a, index)
        _move_slice(state, op, op.b, b, index)
        if not is_clear:
            _move_slice(state, op, op.c, c, index)
        flush(state)
        buffers = [state.buffer(each) for each in (a, b, c)]
        state.at.add(GemmOp(*buffers, clear=is_clear))
        _move_back(state, op, c, slot, index)
    flush(state)


def _move_slice(state: Raising, op: DotOp, value: SSAValue, to: Slot, index: int) -> None:
    def run(point: Point, indices: tuple[SSAValue, ...]) -> None:
        found = element(state, value, (index, *indices), point)
        store_to(state, to, found, indices, point)

    reads, loads = accesses_of(state, [(value, False)])
    reads = tuple((each, own, False) for each, own, _ in reads)
    submit(state, Work(op, to.shape, run, reads, (to,), (), loads))


def _move_back(state: Raising, op: DotOp, source: Slot, to: Slot, index: int) -> None:
    def run(point: Point, indices: tuple[SSAValue, ...]) -> None:
        found = point.at.value(LoadOp(state.buffer(source), list(indices)))
        store_to(state, to, found, (index, *indices), point)

    flush(state)
    submit(state, Work(op, source.shape, run, (), (to,)))
    flush(state)


def _policy(state: Raising, op: DotOp) -> str:
    """Rows stay within a warp where a row reduction reads the result, or A is such a result."""
    own = state.slot(op.a)
    if own is not None and not own.is_shared:
        return "full_row"
    work: list[SSAValue] = [op.d]
    for _ in range(len(work) + 16):
        if not work:
            break
        value = work.pop()
        for use in value.uses:
            user = use.operation
            if isinstance(user, ReduceOp):
                return "full_row"
            if user.name.startswith(("arith.", "math.")) and len(work) < 8:
                work += user.results
    return "square"


EMITTERS = {
    "tt.reduce": emit_reduce,
    "tt.scan": emit_scan,
    "tt.histogram": emit_histogram,
    "tt.dot": emit_dot,
}
