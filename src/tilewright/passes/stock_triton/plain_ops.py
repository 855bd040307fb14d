"""Ops of plain kernels in a form that the installed release of stock Triton gets right.

The front end speaks the language of 3.9. Older releases lack some of its ops, and one of their
lowerings gives wrong values; one rewrite of all known releases does too. What is written instead
gives the same bits::

    before 3.9   arith.negf %x                     arith.subf -0.0, %x        no lowering to TTGIR
    before 3.9   tt.fp_to_fp f16 <-> bf16          through f32, which is exact  no lowering to LLVM
    before 3.9   tt.load %p, %mask, %other         arith.select %mask, (tt.load %p, %mask), %other
                 of 8 or 16 bits                   a negative `other` of several elements in a
                                                   register loses the bits of all but the first
    before 3.9   tt.grid_dependency_*              inline assembly "griddepcontrol"
    all          tt.reshape to one dimension,      as a row: a reshape that only reductions use is
                 reduced with other operands       given any order, in which positions that are
                 (argmax, argmin)                  reduced along with it no longer belong to it
    all          tt.cat                            tt.join, transposed and flattened: any order is
                                                   allowed, newer releases keep that of the text
    all          tt.histogram of such a reshape    of arith.select %mask, %x, 0, for the same reason
                 with a mask

Found by running random kernels on a GPU (`tests/fuzz/tl`).
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    f32,
    i32,
)
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import (
    ConstantOp,
    ExtfOp,
    NegfOp,
    SelectOp,
    SubfOp,
    TruncfOp,
    TrunciOp,
)
from tilewright.dialects.tt import (
    CatOp,
    ElementwiseInlineAsmOp,
    ExpandDimsOp,
    FpToFpOp,
    GridDependencyLaunchDependentsOp,
    GridDependencyWaitOp,
    HistogramOp,
    JoinOp,
    LoadOp,
    ReduceOp,
    ReshapeOp,
    SplatOp,
    TransOp,
)
from tilewright.dialects.type_utils import (
    bit_width,
    element_type_of,
    encoding_of,
    rank_of,
    shape_of,
    with_element_type,
    with_shape,
)
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.text.literals import SplatElementsAttr
from tilewright.ir.traversal import walk

_COMPLETE = (3, 9)
"""The release from which on the ops of the front end are all there."""
_REGISTER_BITS = 32

Rewrite = Callable[[Operation, Rewriter], None]


def write_for_release(module: ModuleOp, version: tuple[int, int]) -> None:
    """Replace what Triton `version` lacks or gets wrong in `module`, in place."""
    rewriter = Rewriter()
    rewrites: dict[type[Operation], Rewrite] = {
        ReduceOp: _reduce_as_row,
        HistogramOp: _count_selected,
        CatOp: _join_in_order,
    }
    if version < _COMPLETE:
        rewrites |= {NegfOp: _subtract, FpToFpOp: _through_single, LoadOp: _select_other}
        rewrites |= dict.fromkeys(_GRID_DEPENDENCY, _as_assembly)
    for op in reversed(list(walk(module))):  # what is inside of an op that is copied comes first
        rewrite = rewrites.get(type(op))
        if rewrite is not None:
            rewrite(op, rewriter)


_GRID_DEPENDENCY: dict[type[Operation], str] = {
    GridDependencyWaitOp: "griddepcontrol.wait;",
    GridDependencyLaunchDependentsOp: "griddepcontrol.launch_dependents;",
}


def _as_assembly(op: Operation, rewriter: Rewriter) -> None:
    # Assembly has a result, which nothing reads.
    text = f"{_GRID_DEPENDENCY[type(op)]} // dummy $0"
    rewriter.replace_op(op, [ElementwiseInlineAsmOp(text, "=r", [], [i32], pure=False)], [])


def _subtract(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, NegfOp)
    zero = ConstantOp.of(-0.0, op.result.type)
    rewriter.replace_op(op, [zero, SubfOp(zero.result, op.operand)])


_HALVES = (Float16Type, BFloat16Type)


def _through_single(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, FpToFpOp)
    source, result = element_type_of(op.src.type), element_type_of(op.result.type)
    if not (isinstance(source, _HALVES) and isinstance(result, _HALVES)):
        return
    wide = ExtfOp(op.src, with_element_type(op.src.type, f32))
    rewriter.replace_op(op, [wide, TruncfOp(wide.result, op.result.type)])


def _select_other(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, LoadOp)
    element = element_type_of(op.result.type)
    if not isinstance(element, IntegerType) or element.width.data >= _REGISTER_BITS:
        return
    if op.mask is None or op.other is None or _is_natural(op.other):
        return
    bare = LoadOp(op.ptr, op.mask)
    bare.properties.update(
        {name: each for name, each in op.properties.items() if name != "operandSegmentSizes"}
    )
    bare.attributes.update(op.attributes)
    rewriter.replace_op(op, [bare, SelectOp(op.mask, bare.result, op.other)])


def _is_natural(value: SSAValue) -> bool:
    """Whether it is a constant that is not negative."""
    owner, width = value.owner, bit_width(element_type_of(value.type))
    while isinstance(owner, (SplatOp, TrunciOp)):
        owner = owner.operands[0].owner
    if not isinstance(owner, ConstantOp):
        return False
    found = owner.value
    scalar = found.scalar if isinstance(found, SplatElementsAttr) else found
    return isinstance(scalar, IntegerAttr) and 0 <= scalar.value.data < 2 ** (width - 1)


def _reduce_as_row(op: Operation, rewriter: Rewriter) -> None:
    """``reduce (reshape %x), %i`` along a row of 1 x n, and once more along its one row."""
    assert isinstance(op, ReduceOp)
    sources = list(op.operands)
    if len(sources) < 2 or not any(map(_is_flattened, sources)):
        return
    rows: list[Operation] = []
    for source in sources:
        if _is_flattened(source):
            assert isinstance(source.owner, ReshapeOp)
            shape = (1, *shape_of(source.type))
            rows.append(ReshapeOp(source.owner.src, with_shape(source.type, shape)))
        else:
            rows.append(ExpandDimsOp(source, 0))
    along = ReduceOp([row.results[0] for row in rows], 1, op.combine_op.clone())
    last = ReduceOp(along.results, 0, op.combine_op.clone())
    rewriter.replace_op(op, [*rows, along, last])
    for source in sources:
        if _is_flattened(source) and not source.uses:
            assert isinstance(source.owner, ReshapeOp)
            rewriter.erase(source.owner)


def _count_selected(op: Operation, rewriter: Rewriter) -> None:
    """What the mask leaves out is replaced, which counts nothing, but keeps the order."""
    assert isinstance(op, HistogramOp)
    if op.mask is None or not (_is_flattened(op.src) or _is_flattened(op.mask)):
        return
    zero = ConstantOp.of(0, op.src.type)
    chosen = SelectOp(op.mask, op.src, zero.result)
    rewriter.replace_op(op, [zero, chosen, HistogramOp(chosen.result, op.result.type, op.mask)])


def _join_in_order(op: Operation, rewriter: Rewriter) -> None:
    assert isinstance(op, CatOp)
    if rank_of(op.lhs.type) != 1 or encoding_of(op.lhs.type) is not None:
        return
    pairs = JoinOp(op.lhs, op.rhs)
    halves = TransOp(pairs.result, (1, 0))
    rewriter.replace_op(op, [pairs, halves, ReshapeOp(halves.result, op.result.type)])


def _is_flattened(value: SSAValue) -> bool:
    owner = value.owner
    return (
        isinstance(owner, ReshapeOp)
        and owner.allow_reorder is None
        and rank_of(value.type) == 1
        and encoding_of(value.type) is None
    )
