"""GEMMs: operands in shared memory or fragments, the accumulator in place."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, i1
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.raising.constants import is_zero
from tilewright.analysis.raising.kinds import Gemm
from tilewright.analysis.raising.slots import Slot
from tilewright.analysis.raising.tasks import integer
from tilewright.dialects.arith import XoriOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.tile import GemmOp
from tilewright.dialects.tile.scaled import ScaledGemmOp
from tilewright.dialects.tt import DotOp, DotScaledOp, ReduceOp, TransOp
from tilewright.dialects.tt.enums import INPUT_PRECISION, SCALE_DOT_ELEM_TYPE
from tilewright.dialects.ttng import WarpGroupDotOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.passes.raising.expressions import Point, element
from tilewright.passes.raising.groups import Work, flush, submit
from tilewright.passes.raising.moves import accesses_of, as_buffer, assign, store_to
from tilewright.passes.raising.state import Raising


def emit_dot(state: Raising, op: Operation) -> None:
    assert isinstance(op, DotOp)
    slot = state.slot(op.d)
    assert slot is not None
    if len(slot.shape) > 2:
        emit_batch(state, op, slot)
        return
    is_clear = _start(state, op, slot)
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
            precision=_precision(op),
        )
    )


def _start(state: Raising, op: Gemm, slot: Slot) -> bool:
    """Put the accumulator where the result will be; whether it is zero instead."""
    if is_zero(op.c):
        return True
    if state.slot(op.c) is not slot:
        assign(state, op, [(slot, op.c)])
    return False


def _precision(op: DotOp | WarpGroupDotOp) -> str | None:
    """How much of the operands takes part; None is what tensor cores read of them."""
    type = element_type_of(op.a.type)
    if not isinstance(type, AnyFloat) or bit_width(type) < 32:
        return None
    if bit_width(type) > 32:
        return "ieee"
    precision = INPUT_PRECISION.keyword(op.input_precision)
    return None if precision == "tf32" else precision


def emit_task_dot(state: Raising, op: Operation) -> None:
    """A GEMM of buffers that the user fills, perhaps asynchronous."""
    assert isinstance(op, WarpGroupDotOp)
    slot = state.slot(op.d)
    assert slot is not None
    is_clear = _start(state, op, slot)
    clear_if: SSAValue | None = None
    if op.use_c is not None and not is_clear:
        known = integer(op.use_c)
        if known is None:
            clear_if = state.at.value(XoriOp(state.scalar(op.use_c), state.at.constant(True, i1)))
        is_clear = known == 0
    a, transpose_a = _task_operand(state, op, op.a)
    b, transpose_b = _task_operand(state, op, op.b)
    flush(state)
    state.at.add(
        GemmOp(
            a,
            b,
            state.buffer(slot),
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            clear=is_clear,
            clear_if=clear_if,
            policy=_policy(state, op),
            precision=_precision(op),
            asynchronous=bool(op.is_async.value.data),
        )
    )


def _task_operand(state: Raising, op: WarpGroupDotOp, value: SSAValue) -> tuple[SSAValue, bool]:
    part = state.parts.get(value)
    if part is not None:
        return part.buffer, part.is_transposed
    return as_buffer(state, value, op), False


def emit_scaled_dot(state: Raising, op: Operation) -> None:
    assert isinstance(op, DotScaledOp)
    slot = state.slot(op.d)
    assert slot is not None
    is_clear = _start(state, op, slot)
    a, transpose_a = _operand(state, op, op.a, is_b=False)
    b, transpose_b = _operand(state, op, op.b, is_b=True)
    a_scale, b_scale = (
        None if scale is None else as_buffer(state, scale, op) for scale in (op.a_scale, op.b_scale)
    )
    flush(state)
    a_format, b_format = map(SCALE_DOT_ELEM_TYPE.keyword, (op.a_elem_type, op.b_elem_type))
    state.at.add(
        ScaledGemmOp(
            a,
            b,
            state.buffer(slot),
            a_format,
            b_format,
            a_scale=a_scale,
            b_scale=b_scale,
            transpose_a=transpose_a,
            transpose_b=transpose_b,
            pack_m=op.lhs_is_packed and not op.packs_lhs_along_k,
            pack_n=op.rhs_is_packed and not op.packs_rhs_along_k,
            fast_math=bool(op.fast_math.value.data),
            clear=is_clear,
        )
    )


def _operand(state: Raising, op: Gemm, value: SSAValue, *, is_b: bool) -> tuple[SSAValue, bool]:
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
        state.at.add(GemmOp(*buffers, clear=is_clear, precision=_precision(op)))
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


def _policy(state: Raising, op: Gemm) -> str:
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
