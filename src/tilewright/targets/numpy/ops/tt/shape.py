"""Ops that rearrange elements.

Broadcasting is not carried out: a splat is its scalar, a broadcast is its source. What follows
from that, live axes in and live axes out, is computed here; `reshape`, `join`, `cat`, `split` and
`gather` need the elements themselves and grow their operands first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tt.shape import ExpandDimsOp, GatherOp, TransOp
from tilewright.dialects.type_utils import rank_of, shape_of
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.ops.elementwise import to_rank
from tilewright.targets.numpy.values import (
    PROGRAM,
    Expr,
    Pointer,
    Shadow,
    Tensor,
    Value,
    all_axes,
    axis_bit,
    shadows_of,
)

Change = Callable[[Expr], Expr]


def moved(emitter: Emitter, value: Value, change: Change) -> Value:
    """A value whose every expression is rearranged in the same way."""
    shadows = tuple(each.on(change(each.expr)) for each in _shadows(value))
    if isinstance(value, Pointer):
        return Pointer(tuple(change(term) for term in value.terms), value.root, shadows)
    assert isinstance(value, Tensor)
    terms = tuple(change(term) for term in value.terms)
    conjuncts = tuple(change(term) for term in value.conjuncts)
    return Tensor(change(value.expr), terms, conjuncts, shadows)


def _shadows(value: Value) -> tuple[Shadow, ...]:
    return shadows_of(value)


def _apply(emitter: Emitter, op: Operation, change: Change) -> None:
    emitter.define(op.results[0], moved(emitter, emitter.values[op.operands[0]], change))


# Without a copy.


def _splat(emitter: Emitter, op: Operation) -> None:
    rank = rank_of(op.results[0].type)
    _apply(emitter, op, lambda expr: to_rank(emitter, expr, rank))


def _broadcast(emitter: Emitter, op: Operation) -> None:
    emitter.define(op.results[0], emitter.values[op.operands[0]])


def _unsplat(emitter: Emitter, op: Operation) -> None:
    def change(expr: Expr) -> Expr:
        if expr.is_scalar:
            return expr
        return emitter.pure("{0}.reshape(-1)", expr, axes=PROGRAM, rank=0)

    _apply(emitter, op, change)


def _expand_dims(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ExpandDimsOp)
    axis = op.axis.value.data
    rank = rank_of(op.result.type)
    _apply(emitter, op, lambda expr: expanded(emitter, expr, axis, rank))


def expanded(emitter: Emitter, expr: Expr, axis: int, rank: int) -> Expr:
    """An expression with an axis of extent 1 put in, which gives it `rank`."""
    if expr.is_scalar:
        return expr
    below = axis_bit(axis) - 1
    axes = (expr.axes & below) | ((expr.axes & ~below) << 1)
    index = ", ".join([":"] * (axis + 1) + ["None"])
    return emitter.pure(f"{{0}}[{index}]", expr, axes=axes, rank=rank)


def _trans(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TransOp)
    order = list(op.order.get_values())
    _apply(emitter, op, lambda expr: transposed(emitter, expr, order))


def transposed(emitter: Emitter, expr: Expr, order: Sequence[int]) -> Expr:
    """An expression with its axes in another order."""
    if expr.is_scalar or list(order) == sorted(order):
        return expr
    axes = expr.axes & PROGRAM
    for target, source in enumerate(order):
        if expr.axes & axis_bit(source):
            axes |= axis_bit(target)
    if axes & ~PROGRAM == 0:
        return expr  # every extent is 1
    indices = ", ".join(str(index) for index in (0, *(source + 1 for source in order)))
    return emitter.pure(f"{{0}}.transpose({indices})", expr, axes=axes)


# With one.


def _reshape(emitter: Emitter, op: Operation) -> None:
    source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    _apply(emitter, op, lambda expr: reshaped(emitter, expr, source, target))


def reshaped(
    emitter: Emitter, expr: Expr, source: tuple[int, ...], target: tuple[int, ...]
) -> Expr:
    """An expression in another shape, in row-major order."""
    if expr.is_scalar or source == target:
        return expr
    axes = _live_axes(expr.axes, source, target)
    if axes is None:
        expr = emitter.grown(expr, source, all_axes(source))
        axes = (expr.axes & PROGRAM) | all_axes(target)
    extents = [extent if axes & axis_bit(axis) else 1 for axis, extent in enumerate(target)]
    shape = ", ".join(str(extent) for extent in (-1, *extents))
    return emitter.pure(f"{{0}}.reshape({shape})", expr, axes=axes, rank=len(target))


def _live_axes(axes: int, source: tuple[int, ...], target: tuple[int, ...]) -> int | None:
    """Live axes after a reshape that only adds or drops axes of extent 1; None for others."""
    if not axes & ~PROGRAM:
        return axes
    long = [axis for axis, extent in enumerate(source) if extent != 1]
    other = [axis for axis, extent in enumerate(target) if extent != 1]
    if [source[axis] for axis in long] != [target[axis] for axis in other]:
        return None
    live = axes & PROGRAM
    for old, new in zip(long, other, strict=True):
        if axes & axis_bit(old):
            live |= axis_bit(new)
    return live


def full_expr(emitter: Emitter, value: SSAValue) -> Expr:
    """The array of an operand with all its elements."""
    shape = shape_of(value.type)
    expr = emitter.expr(value)
    axes = all_axes(shape)
    if expr.is_scalar and not axes:
        axes = PROGRAM  # an array all the same
    return emitter.grown(expr, shape, axes)


def _full(emitter: Emitter, expr: Expr, shape: tuple[int, ...]) -> Expr:
    axes = all_axes(shape)
    return emitter.grown(expr, shape, axes or PROGRAM)


def _two_into_one(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)

        def combine(a: Expr, b: Expr) -> Expr:
            a, b = _full(emitter, a, source), _full(emitter, b, source)
            axes = ((a.axes | b.axes) & PROGRAM) | all_axes(target)
            return emitter.pure(f"{function}({{0}}, {{1}})", a, b, axes=axes, rank=len(target))

        one, other = (emitter.tensor(operand) for operand in op.operands)
        if one.expr.is_scalar and other.expr.text == one.expr.text:
            emitter.define(op.results[0], one)
            return
        expr = combine(one.expr, other.expr)
        shadows = _combined_shadows(emitter, one, other, combine)
        emitter.define(op.results[0], Tensor(expr, shadows=shadows))

    return rule


def _combined_shadows(
    emitter: Emitter, one: Tensor, other: Tensor, combine: Callable[[Expr, Expr], Expr]
) -> tuple[Shadow, ...]:
    if not one.shadows and not other.shadows:
        return ()
    first = (one.shadows or other.shadows)[0]
    defined = [emitter.conjunction([each.expr for each in value.shadows]) for value in (one, other)]
    return (first.on(combine(*defined)),)


def _cat(emitter: Emitter, op: Operation) -> None:
    if rank_of(op.operands[0].type) != 1:
        raise emitter.unsupported("tt.cat is defined for vectors only")
    _two_into_one("cat")(emitter, op)


def _split(emitter: Emitter, op: Operation) -> None:
    source = shape_of(op.operands[0].type)
    last = len(source) - 1
    value = emitter.values[op.operands[0]]

    def half(index: int) -> Change:
        def change(expr: Expr) -> Expr:
            if expr.is_scalar:
                return expr
            position = index if expr.axes & axis_bit(last) else 0
            axes = expr.axes & ~axis_bit(last)
            if axes == 0:
                return emitter.pure(f"{{0}}.reshape(-1)[{position}]", expr, axes=0, rank=0)
            return emitter.pure(f"{{0}}[..., {position}]", expr, axes=axes, rank=last)

        return change

    for index, result in enumerate(op.results):
        emitter.define(result, moved(emitter, value, half(index)))


def _gather(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, GatherOp)
    shape = shape_of(op.result.type)
    axis = op.axis.value.data
    source_shape = shape_of(op.src.type)
    indices = full_expr(emitter, op.indices)
    value = emitter.tensor(op.src)

    def change(expr: Expr) -> Expr:
        if expr.is_scalar:
            return expr
        expr = _full(emitter, expr, source_shape)
        axes = ((expr.axes | indices.axes) & PROGRAM) | all_axes(shape)
        text = f"gather({{0}}, {{1}}, {axis + 1})"
        return emitter.pure(text, expr, indices, axes=axes, rank=len(shape))

    extent = source_shape[axis]
    inside = emitter.pure(f"within({{0}}, {extent})", emitter.expr(op.indices), hint="inside")
    shadows = (
        *emitter.shadow_map(value, change),
        *emitter.shadows(op.indices),
        Shadow(inside, op.location, f"an index is not in 0 … {extent - 1} here"),
    )
    emitter.define(op.result, Tensor(change(value.expr), shadows=shadows))


RULES: dict[str, Rule] = {
    "tt.broadcast": _broadcast,
    "tt.cat": _cat,
    "tt.expand_dims": _expand_dims,
    "tt.gather": _gather,
    "tt.join": _two_into_one("join"),
    "tt.reshape": _reshape,
    "tt.splat": _splat,
    "tt.split": _split,
    "tt.trans": _trans,
    "tt.unsplat": _unsplat,
}
