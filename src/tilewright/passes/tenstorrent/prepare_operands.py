"""Prepare operands of GEMMs and reductions: transposes, functions of elements, partly filled tiles.

T.gemm(a, b, c, transpose_A=True)     a transposed into a buffer of its own
T.gemm(a, b, c, clear_accum=k == 0)   c cleared before the loop over k
T.reduce_min(x, y, dim=1)             y = -max(-x)
T.reduce_max of 90 columns            columns 90 to 95 replaced by the lowest value
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import AnyFloat, Float16Type, Float32Type, IndexType, StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import CmpiOp, ConstantOp, MinnumfOp, NegfOp, SelectOp
from tilewright.dialects.math import AbsfOp
from tilewright.dialects.scf import ForOp, IfOp
from tilewright.dialects.tensix.blocks import ElementwiseOp, TileYieldOp
from tilewright.dialects.tensix.formats import TILE_HEIGHT
from tilewright.dialects.tensix.types import Role
from tilewright.dialects.tile import AllocOp, GemmOp, ReduceOp, TransposeOp, buffer_type
from tilewright.dialects.tile.attributes import Space
from tilewright.dialects.tile.mixed import integers_attr
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.interfaces import constant_integer
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tenstorrent.block_ops import (
    buffer_tiles,
    extents_of,
    reduces_columns,
    staging_buffer,
    zero_fill,
)
from tilewright.passes.tenstorrent.block_shapes import name_of
from tilewright.passes.tenstorrent.buffer_uses import alloc_of, role_of, write_positions
from tilewright.passes.tenstorrent.masks import insert_masks
from tilewright.passes.tenstorrent.positions import EXTENTS
from tilewright.passes.tenstorrent.reports import NotSupported

LOWEST, LOWEST_F16 = -3.0e38, -65504.0
"""The neutral element of a maximum, finite in its format."""


def prepare_gemm(op: GemmOp) -> None:
    """Transpose A in a buffer of its own: the unpacker transposes tiles of B only."""
    _check_precision(op)
    _clear_accumulator(op)
    for position, along_rows in ((0, op.transpose_a is not None), (1, op.transpose_b is None)):
        _mask_operand(op, position, along_rows=along_rows)
    if op.transpose_a is None:
        return
    rows, columns = extents_of(op.a)
    source = alloc_of(op.a)
    element = element_type_of(op.a.type)
    made = AllocOp(
        buffer_type(element, (columns, rows), Space.SHARED), name=f"{source.buffer_name}_t"
    )
    made.attributes[EXTENTS] = integers_attr((columns, rows))
    rewriter = Rewriter()
    rewriter.insert_after(source, made, op)
    rewriter.insert_before(op, TransposeOp(op.a, made.result))
    op.operands[0] = made.result
    op.transpose_a = None


def _check_precision(op: GemmOp) -> None:
    """The unpacker reads float32 as tf32."""
    is_single = isinstance(element_type_of(op.a.type), Float32Type)
    if is_single and op.precision is not None and op.precision.data != "tf32":
        raise NotSupported(
            op,
            f"a GEMM of float32 with precision {op.precision.data} has no counterpart on the "
            "Tenstorrent target, which multiplies the 10 mantissa bits of tf32: request tf32",
        )


def _clear_accumulator(op: GemmOp) -> None:
    """Clear C before its loop if the first iteration does, else under the condition."""
    condition = op.clear_if
    if condition is None:
        return
    op.operands = [op.a, op.b, op.c]
    rewriter = Rewriter()
    loop = op.parent_op()
    if isinstance(loop, ForOp) and _is_first_iteration(condition, loop) and _only_use(op, loop):
        rewriter.insert_before(loop, zero_fill(op.c), op)
        return
    branch = IfOp(condition)
    last = branch.then_region.block.last_op
    assert last is not None
    rewriter.insert_before(last, zero_fill(op.c), op)
    rewriter.insert_before(op, branch)


def _is_first_iteration(condition: SSAValue, loop: ForOp) -> bool:
    """Whether `condition` compares the index of a loop that is not empty with its first value."""
    test = condition.owner
    if not isinstance(test, CmpiOp) or test.predicate_name != "eq":
        return False
    first, end = constant_integer(loop.lower_bound), constant_integer(loop.upper_bound)
    if first is None or end is None or first >= end:
        return False
    for index, value in (test.operands, reversed(test.operands)):
        if index is loop.induction_variable and constant_integer(value) == first:
            return True
    return False


def _only_use(op: GemmOp, loop: ForOp) -> bool:
    """Whether no other op of the loop uses the accumulator."""
    uses = {use.operation for use in op.c.uses}
    return not any(each is not op and each in uses for each in walk(loop))


def _mask_operand(op: GemmOp, position: int, *, along_rows: bool) -> None:
    """Set what follows the last element along K to zero, unless the host has padded with zeros."""
    buffer = op.operands[position]
    extent = extents_of(buffer)[0 if along_rows else 1]
    writers = [
        use.operation
        for use in buffer.uses
        if any(use.operation.operands[n] is buffer for n in write_positions(use.operation))
    ]
    if extent % TILE_HEIGHT and any(role_of(each) is not Role.READER for each in writers):
        op.operands[position] = _converted(op, buffer, None, extent, 0.0, along_rows=along_rows)


_REDUCTIONS: Mapping[str, tuple[str, type[NegfOp] | type[AbsfOp] | None]] = {
    "sum": ("sum", None),
    "max": ("max", None),
    "min": ("max", NegfOp),
    "absmax": ("max", AbsfOp),
    "abssum": ("sum", AbsfOp),
}
"""The reductions of the FPU, and the function applied to the elements before."""


def prepare_reduction(op: ReduceOp) -> None:
    """Apply the function of the elements, and neutralise what a partly filled tile holds."""
    kind = op.kind.data
    if kind not in _REDUCTIONS or op.scope.data != "block":
        raise NotSupported(
            op,
            f"reduction '{kind}' over {op.scope.data} has no tile intrinsic: use sum, max, min, "
            "absmax or abssum",
        )
    element = element_type_of(op.src.type)
    if not isinstance(element, AnyFloat):
        raise NotSupported(
            op,
            f"reduction '{kind}' of '{name_of(op.src)}' with elements of type '{element}' has no "
            "tile intrinsic: use float32, float16 or bfloat16",
        )
    native, function = _REDUCTIONS[kind]
    across = reduces_columns(op.src, op.dst)
    extent = extents_of(op.src)[1 if across else 0]
    if function is not None or extent % TILE_HEIGHT:
        is_f16 = isinstance(element, Float16Type)
        lowest = LOWEST_F16 if is_f16 else LOWEST
        neutral = 0.0 if native == "sum" else lowest
        op.operands[0] = _converted(op, op.src, function, extent, neutral, along_rows=not across)
    op.kind = StringAttr(native)
    if kind == "min":
        _negate_result(op)


def _negate_result(op: ReduceOp) -> None:
    """The minimum is the negated maximum of the negated elements."""
    target = op.dst
    element = element_type_of(target.type)
    partial = staging_buffer(op, target, element, alloc_of(target).buffer_name)
    inputs, kinds = [partial], ["tile"]
    if not op.clear:
        inputs, kinds = [partial, target], ["tile", "tile"]
    made = ElementwiseOp(buffer_tiles(target), inputs, kinds, [target])
    negated = NegfOp(made.elements[0])
    made.body.block.add_op(negated)
    result = negated.results[0]
    if not op.clear:
        smaller = MinnumfOp(result, made.elements[1])
        made.body.block.add_op(smaller)
        result = smaller.results[0]
    made.body.block.add_op(TileYieldOp([result]))
    Rewriter().insert_after(op, made)
    op.operands[1] = partial
    op.accumulate = None


def _converted(
    op: Operation,
    source: SSAValue,
    function: type[NegfOp] | type[AbsfOp] | None,
    extent: int,
    neutral: float,
    *,
    along_rows: bool,
) -> SSAValue:
    """A buffer with a function of the elements of `source`, and `neutral` from `extent` on."""
    element = element_type_of(source.type)
    target = staging_buffer(op, source, element, alloc_of(source).buffer_name)
    made = ElementwiseOp(buffer_tiles(source), [source], ["tile"], [target])
    block = made.body.block
    value: SSAValue = made.elements[0]
    if function is not None:
        applied = function(value)
        block.add_op(applied)
        value = applied.results[0]
    if extent % TILE_HEIGHT:
        bound = ConstantOp.of(extent, IndexType())
        inside = CmpiOp("slt", made.indices[0 if along_rows else 1], bound)
        other = ConstantOp.of(neutral, element)
        chosen = SelectOp(inside, value, other)
        block.add_ops([bound, inside, other, chosen])
        value = chosen.results[0]
    block.add_op(TileYieldOp([value]))
    Rewriter().insert_before(op, made)
    insert_masks(made)
    return target
