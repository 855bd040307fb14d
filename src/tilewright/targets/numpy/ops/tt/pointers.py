"""Pointers: byte addresses as sums of small arrays.

`tt.addptr` appends terms; terms with the same live axes are added up at once, so a pointer that a
loop advances by a number stays as many terms as it has. Block pointers keep what they were made
of; accesses compute addresses and bounds from that.
"""

from __future__ import annotations

from xdsl.ir import Attribute, Operation

from tilewright.dialects.tt.pointers import AddPtrOp, AdvanceOp, MakeTensorPtrOp
from tilewright.dialects.tt.types import PtrType
from tilewright.dialects.type_utils import element_type_of, rank_of
from tilewright.targets.numpy.dtypes import I64, ScalarType, scalar_type
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.arith.constant import zero
from tilewright.targets.numpy.ops.arith.integer import merged
from tilewright.targets.numpy.ops.elementwise import to_rank
from tilewright.targets.numpy.values import EmittedBlock, Expr, Pointer, Tensor, shadows_of


def pointee_bytes(emitter: Emitter, type: Attribute) -> int:
    """The size of what pointers of this type point to."""
    pointer = element_type_of(type)
    assert isinstance(pointer, PtrType)
    found = scalar_type(pointer.pointee)
    if found is None:
        raise emitter.unsupported(f"type '{pointer.pointee}' has no equivalent in NumPy")
    return found.dtype.itemsize


def in_bytes(emitter: Emitter, offset: Expr, type: ScalarType, size: int) -> Expr:
    """An offset in elements as one in bytes, in 64 bits."""
    scale = "" if size == 1 else f" * {size}"
    hint = f"{emitter.hint}_bytes"
    if type is I64:
        return emitter.pure(f"{{0}}{scale}", offset, hint=hint) if scale else offset
    if offset.is_scalar:
        return emitter.pure(f"i64({{0}}){scale}", offset, hint=hint)
    return emitter.pure(f"{{0}}.astype(i64){scale}", offset, hint=hint)


def _addptr(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AddPtrOp)
    pointer, offset = emitter.values[op.ptr], emitter.tensor(op.offset)
    assert isinstance(pointer, Pointer)
    size, type = pointee_bytes(emitter, op.ptr.type), emitter.scalar_type(op.offset)
    rank = rank_of(op.result.type)
    moves = [in_bytes(emitter, to_rank(emitter, term, rank), type, size) for term in _terms(offset)]
    terms = merged(emitter, (*pointer.terms, *moves))
    emitter.define(
        op.result, Pointer(terms, pointer.root, emitter.joined(shadows_of(pointer, offset)))
    )


def _terms(offset: Tensor) -> tuple[Expr, ...]:
    return offset.terms or (offset.expr,)


def _int_to_ptr(emitter: Emitter, op: Operation) -> None:
    value = emitter.tensor(op.operands[0])
    emitter.define(op.results[0], Pointer(value.terms or (value.expr,), None, value.shadows))


def _ptr_to_int(emitter: Emitter, op: Operation) -> None:
    pointer = emitter.values[op.operands[0]]
    assert isinstance(pointer, Pointer)
    expr = emitter.total(pointer.terms)
    terms = pointer.terms if len(pointer.terms) > 1 else ()
    emitter.define(op.results[0], Tensor(expr, terms, shadows=pointer.shadows))


# Block pointers.


def _make_tensor_ptr(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MakeTensorPtrOp)
    base = emitter.values[op.base]
    assert isinstance(base, Pointer)
    block = op.block_type
    emitter.define(
        op.result,
        EmittedBlock(
            base,
            tuple(emitter.expr(extent) for extent in op.shape),
            tuple(emitter.expr(stride) for stride in op.strides),
            tuple(emitter.expr(offset) for offset in op.offsets),
            tuple(block.get_shape()),
            zero(emitter, block.element_type),
        ),
    )


def _advance(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AdvanceOp)
    block = emitter.values[op.ptr]
    assert isinstance(block, EmittedBlock)
    moves = [emitter.expr(offset) for offset in op.offsets]
    offsets = [
        emitter.pure("{0} + {1}", old, move)
        for old, move in zip(block.offsets, moves, strict=False)
    ]
    offsets += block.offsets[len(moves) :]
    emitter.define(
        op.result,
        EmittedBlock(
            block.base, block.shape, block.strides, tuple(offsets), block.extents, block.fill
        ),
    )


RULES: dict[str, Rule] = {
    "tt.addptr": _addptr,
    "tt.int_to_ptr": _int_to_ptr,
    "tt.ptr_to_int": _ptr_to_int,
    "tt.make_tensor_ptr": _make_tensor_ptr,
    "tt.advance": _advance,
}
