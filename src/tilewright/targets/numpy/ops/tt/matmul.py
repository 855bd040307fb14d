"""`tt.dot` and `tt.dot_scaled`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tt.enums import SCALE_DOT_ELEM_TYPE
from tilewright.dialects.tt.matmul import DotOp, DotScaledOp
from tilewright.dialects.type_utils import shape_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.tt.shape import full_expr
from tilewright.targets.numpy.values import (
    PROGRAM,
    Expr,
    Shadow,
    Shadows,
    Tensor,
    all_axes,
    axis_bit,
    union,
)


def _dot(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, DotOp)
    a, b = full_expr(emitter, op.a), full_expr(emitter, op.b)
    c = emitter.expr(op.c)
    shape = shape_of(op.d.type)
    axes = (union(a, b, c) & PROGRAM) | all_axes(shape)
    expr = _matrix(emitter, "dot({0}, {1}, {2})", (a, b, c), axes, len(shape))
    shadows = (
        *emitter.shadows(op.c),
        *_along(emitter, op.a, len(shape) - 1),
        *_along(emitter, op.b, len(shape) - 2),
    )
    emitter.define(op.d, Tensor(expr, shadows=shadows))


def _matrix(emitter: Emitter, text: str, operands: Sequence[Expr], axes: int, rank: int) -> Expr:
    """The result of a dot written as `text`; one element that all programs share is a scalar."""
    if not axes:
        return emitter.pure(f"only({text})", *operands, axes=0, rank=0)
    return emitter.pure(text, *operands, axes=axes, rank=rank)


def _along(emitter: Emitter, operand: SSAValue, axis: int) -> Shadows:
    """Shadows of sums along an axis: a row or column is defined if all of it is."""
    bit = axis_bit(axis)

    def change(expr: Expr) -> Expr:
        if not expr.axes & bit:
            return expr
        axes = expr.axes & ~bit
        if not axes:
            return emitter.pure("{0}.all()", expr, axes=0)
        return emitter.pure(f"{{0}}.all(axis={axis + 1}, keepdims=True)", expr, axes=axes)

    return emitter.shadow_map(emitter.tensor(operand), change)


def _dot_scaled(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, DotScaledOp)
    operands = [op.a, op.b, op.c, op.a_scale, op.b_scale]
    exprs = [full_expr(emitter, value) for value in operands if value is not None]
    shape = shape_of(op.d.type)
    axes = (union(*exprs) & PROGRAM) | all_axes(shape)
    a_scale = "None" if op.a_scale is None else "{3}"
    b_scale = "None" if op.b_scale is None else f"{{{len(exprs) - 1}}}"
    formats = [SCALE_DOT_ELEM_TYPE.keyword(each) for each in (op.a_elem_type, op.b_elem_type)]
    text = (
        f"dot_scaled({{0}}, {a_scale}, {formats[0]!r}, {op.packs_lhs_along_k}, "
        f"{{1}}, {b_scale}, {formats[1]!r}, {op.packs_rhs_along_k}, {{2}})"
    )
    expr = _matrix(emitter, text, exprs, axes, len(shape))
    emitter.define(op.d, Tensor(expr, shadows=_all_or_nothing(emitter, op)))


def _all_or_nothing(emitter: Emitter, op: DotScaledOp) -> Shadows:
    """Any undefined operand of a program makes its whole result undefined."""
    found: list[Shadow] = list(emitter.shadows(op.c))
    rank = len(shape_of(op.d.type))
    axes = tuple(range(1, rank + 1))
    for operand in (op.a, op.b, op.a_scale, op.b_scale):
        for shadow in () if operand is None else emitter.shadows(operand):
            expr = shadow.expr
            if expr.axes & ~PROGRAM:
                live = expr.axes & PROGRAM
                text = f"{{0}}.all(axis={axes}, keepdims=True)" if live else "{0}.all()"
                expr = emitter.pure(text, expr, axes=live)
            found.append(shadow.on(expr))
    return tuple(found)


RULES: dict[str, Rule] = {"tt.dot": _dot, "tt.dot_scaled": _dot_scaled}
