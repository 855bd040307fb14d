"""Reductions, scans and functions applied to elements.

A region that is one known op becomes a NumPy ufunc. Any other becomes a Python function of its
own, `combine`, which is applied to whole arrays at once: inside it a scalar of the IR is an array
of elements, and control flow is that of a batch whose programs are elements.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.arg_reduce import is_arg_reduce
from tilewright.dialects.tt.functions import CallOp
from tilewright.dialects.tt.reductions import HistogramOp, MapElementwiseOp, ReduceOp, ScanOp
from tilewright.dialects.type_utils import rank_of, shape_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.combiners import ROUNDED, SAME_AGAIN, summation, ufunc_of
from tilewright.targets.numpy.ops.elementwise import to_rank
from tilewright.targets.numpy.ops.functions import write_lambda
from tilewright.targets.numpy.ops.tt.shape import full_expr
from tilewright.targets.numpy.values import (
    PROGRAM,
    Expr,
    Shadow,
    Shadows,
    Tensor,
    all_axes,
    axis_bit,
)


def _ufunc(emitter: Emitter, op: ReduceOp | ScanOp) -> str | None:
    single = op.single_combiner
    while isinstance(single, CallOp):
        single = _single_of(emitter, single)
    return None if single is None else ufunc_of(single, emitter.scalar_type(op.operands[0]))


def _single_of(emitter: Emitter, call: CallOp) -> Operation | None:
    """The op that a called function consists of, if one op does it to the arguments in order."""
    callee = emitter.unit.functions.get(call.callee.root_reference.data)
    if callee is None or len(callee.body.blocks) != 1:
        return None
    block = callee.body.blocks[0]
    op, end = block.first_op, block.last_op
    if op is None or end is None or op.next_op is not end:
        return None
    is_single = tuple(op.operands) == tuple(block.args) and tuple(end.operands) == tuple(op.results)
    return op if is_single else None


def _without(axes: int, axis: int) -> int:
    """Live axes after an axis was dropped."""
    below = axis_bit(axis) - 1
    return (axes & below) | ((axes >> 1) & ~below)


def _dropped(emitter: Emitter, expr: Expr, axis: int) -> Expr:
    """An expression without an axis along which it does not change."""
    if expr.is_scalar:
        return expr
    rank = expr.rank - 1
    return emitter.pure(
        f"{{0}}.squeeze({axis + 1})", expr, axes=_without(expr.axes, axis), rank=rank
    )


def _reduced(emitter: Emitter, expr: Expr, axis: int, text: str) -> Expr:
    """The result of a reduction written as `text`; without any live axis, a scalar."""
    axes = _without(expr.axes & ~axis_bit(axis), axis)
    if not axes:
        return emitter.pure(f"only({text})", expr, axes=0, rank=0)
    return emitter.pure(text, expr, axes=axes, rank=expr.rank - 1)


# Reductions.


def _reduce(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ReduceOp)
    shadows = _reduced_shadows(emitter, op)
    ufunc = _ufunc(emitter, op)
    if ufunc is not None:
        expr = _reduce_by_ufunc(emitter, op, ufunc)
        emitter.define(op.results[0], Tensor(expr, shadows=shadows))
        return
    exprs = _reduce_by_function(emitter, op)
    for result, expr in zip(op.results, exprs, strict=True):
        emitter.define(result, Tensor(expr, shadows=shadows))


def _reduce_by_ufunc(emitter: Emitter, op: ReduceOp, ufunc: str) -> Expr:
    source, axis = op.operands[0], op.axis_index
    expr = emitter.expr(source)
    is_live = bool(expr.axes & axis_bit(axis))
    if not is_live and (ufunc in SAME_AGAIN or shape_of(source.type)[axis] == 1):
        return _dropped(emitter, expr, axis)
    if not is_live:
        expr = emitter.grown(expr, shape_of(source.type), axis_bit(axis))
    type = emitter.scalar_type(source)
    at = axis + 1
    function = summation(ufunc, type)
    if function is not None:
        return _reduced(emitter, expr, axis, f"{function}({ufunc}, {{0}}, {at})")
    dtype = f", dtype={type.name}" if ufunc in ROUNDED else ""
    return _reduced(emitter, expr, axis, f"{ufunc}.reduce({{0}}, axis={at}{dtype})")


def _reduce_by_function(emitter: Emitter, op: ReduceOp) -> list[Expr]:
    axis = op.axis_index
    combine = _combine(emitter, op)
    largest = is_arg_reduce(op.combiner)
    if largest is not None:
        values = full_expr(emitter, op.operands[0])
        indices = _along(emitter, op.operands[1], axis)
        text = f"arg_reduce({largest}, {{1}}, {{2}}, {axis + 1}, {{0}})"
        exprs = [values, indices]
    else:
        exprs = [full_expr(emitter, operand) for operand in op.operands]
        listed = ", ".join(f"{{{index + 1}}}" for index in range(len(exprs)))
        text = f"fold_by({{0}}, ({listed},), {axis + 1})"
    live = _union([combine, *exprs]) & PROGRAM
    rank = rank_of(op.operands[0].type) - 1
    shape = shape_of(op.results[0].type)
    axes = live | all_axes(shape)
    if not axes:
        # One program's numbers for all: keep an array of one element, then take it out.
        parts = emitter.several(f"*{text}" if len(op.results) == 1 else text, [combine, *exprs],
                                [(PROGRAM, rank)] * len(op.results))  # fmt: skip
        return [emitter.pure("only({0})", part, axes=0, rank=0) for part in parts]
    star = "*" if len(op.results) == 1 else ""
    return emitter.several(f"{star}{text}", [combine, *exprs], [(axes, rank)] * len(op.results))


def _union(exprs: Sequence[Expr]) -> int:
    axes = 0
    for expr in exprs:
        axes |= expr.axes
    return axes


def _along(emitter: Emitter, operand: SSAValue, axis: int) -> Expr:
    """An operand with its elements along one axis; it is left as it is along others."""
    shape = shape_of(operand.type)
    expr = emitter.expr(operand)
    return emitter.grown(expr, shape, axis_bit(axis) if shape[axis] != 1 else PROGRAM)


def _reduced_shadows(emitter: Emitter, op: ReduceOp) -> Shadows:
    """A result is defined if everything that went into it is."""
    axis = op.axis_index
    found: list[Shadow] = []
    for shadow in emitter.shadows(*op.operands):
        expr = shadow.expr
        if expr.axes & axis_bit(axis):
            expr = _reduced(emitter, expr, axis, f"{{0}}.all(axis={axis + 1})")
        else:
            expr = _dropped(emitter, expr, axis)
        found.append(shadow.on(expr))
    return tuple(found)


def _combine(emitter: Emitter, op: ReduceOp | ScanOp | MapElementwiseOp) -> Expr:
    region = op.regions[0]
    return write_lambda(emitter, region, rank_of(op.operands[0].type))


# Scans.


def _scan(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ScanOp)
    at, reverse = op.axis_index + 1, bool(op.reverse.value.data)
    shadows = _scanned_shadows(emitter, op, reverse)
    ufunc = _ufunc(emitter, op)
    exprs = [full_expr(emitter, operand) for operand in op.operands]
    rank = rank_of(op.operands[0].type)
    axes = _union(exprs)
    if ufunc is not None:
        text = f"scan({ufunc}, {{0}}, {at}, {reverse})"
        results = [emitter.pure(text, exprs[0], axes=axes, rank=rank)]
    else:
        combine = _combine(emitter, op)
        axes |= combine.axes
        listed = ", ".join(f"{{{index + 1}}}" for index in range(len(exprs)))
        star = "*" if len(exprs) == 1 else ""
        text = f"{star}scan_by({{0}}, ({listed},), {at}, {reverse})"
        results = emitter.several(text, [combine, *exprs], [(axes, rank)] * len(exprs))
    for result, expr in zip(op.results, results, strict=True):
        emitter.define(result, Tensor(expr, shadows=shadows))


def _scanned_shadows(emitter: Emitter, op: ScanOp, reverse: bool) -> Shadows:
    """A result is defined as far as everything before it is."""
    axis = op.axis_index

    def change(expr: Expr) -> Expr:
        if not expr.axes & axis_bit(axis):
            return expr
        return emitter.pure(f"scan(np.logical_and, {{0}}, {axis + 1}, {reverse})", expr)

    return tuple(each.on(change(each.expr)) for each in emitter.shadows(*op.operands))


# Functions of elements.


def _map(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, MapElementwiseOp)
    shape = shape_of(op.operands[0].type)
    exprs = [full_expr(emitter, operand) for operand in op.operands]
    rank = len(shape)
    # Captured scalars broadcast against the elements of a program along one axis.
    combine = write_lambda(emitter, op.regions[0], 1)
    axes = _union([combine, *exprs])
    listed = ", ".join(f"{{{index + 1}}}" for index in range(len(exprs)))
    star = "*" if len(op.results) == 1 else ""
    text = f"{star}map_packs({{0}}, ({listed},), {op.pack.value.data}, {shape})"
    results = emitter.several(text, [combine, *exprs], [(axes, rank)] * len(op.results))
    shadows = emitter.shadows(*op.operands)
    for result, expr in zip(op.results, results, strict=True):
        emitter.define(result, Tensor(expr, shadows=shadows))


def _histogram(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, HistogramOp)
    source = full_expr(emitter, op.src)
    exprs = [source]
    mask = "None"
    shadows = list(emitter.shadows(op.src))
    if op.mask is not None:
        exprs.append(full_expr(emitter, op.mask))
        mask = "{1}"
        shadows = [each for each in shadows if not _is_in(each, emitter.tensor(op.mask))]
    shape = shape_of(op.result.type)
    axes = (_union(exprs) & PROGRAM) | all_axes(shape)
    text = f"histogram({{0}}, {shape[0]}, {mask})"
    expr = emitter.pure(text, *exprs, axes=axes, rank=1)
    counted = [
        each.on(to_rank(emitter, _reduced(emitter, each.expr, 0, "{0}.all(axis=1)"), 1))
        for each in shadows
        if each.expr.axes & axis_bit(0)
    ]
    emitter.define(op.result, Tensor(expr, shadows=tuple(counted)))


def _is_in(shadow: Shadow, mask: Tensor) -> bool:
    return any(term.text == shadow.expr.text for term in mask.mask_terms)


RULES: dict[str, Rule] = {
    "tt.reduce": _reduce,
    "tt.scan": _scan,
    "tt.map_elementwise": _map,
    "tt.histogram": _histogram,
}
