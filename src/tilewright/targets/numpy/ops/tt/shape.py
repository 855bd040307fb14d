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
    Piece,
    Pointer,
    Shadow,
    Tensor,
    Value,
    all_axes,
    axis_bit,
    shadows_of,
)

Change = Callable[[Piece], Piece]


def moved(emitter: Emitter, value: Value, change: Change) -> Value:
    """A value whose every piece is rearranged in the same way."""
    shadows = tuple(each.on(change(each.piece)) for each in _shadows(value))
    if isinstance(value, Pointer):
        return Pointer(tuple(change(term) for term in value.terms), value.root, shadows)
    assert isinstance(value, Tensor)
    terms = tuple(change(term) for term in value.terms)
    conjuncts = tuple(change(term) for term in value.conjuncts)
    return Tensor(change(value.piece), terms, conjuncts, shadows)


def _shadows(value: Value) -> tuple[Shadow, ...]:
    return shadows_of(value)


def _apply(emitter: Emitter, op: Operation, change: Change) -> None:
    emitter.define(op.results[0], moved(emitter, emitter.values[op.operands[0]], change))


# Without a copy.


def _splat(emitter: Emitter, op: Operation) -> None:
    rank = rank_of(op.results[0].type)
    _apply(emitter, op, lambda piece: to_rank(emitter, piece, rank))


def _broadcast(emitter: Emitter, op: Operation) -> None:
    emitter.define(op.results[0], emitter.values[op.operands[0]])


def _unsplat(emitter: Emitter, op: Operation) -> None:
    def change(piece: Piece) -> Piece:
        if piece.is_scalar:
            return piece
        return emitter.pure("{0}.reshape(-1)", piece, axes=PROGRAM, rank=0)

    _apply(emitter, op, change)


def _expand_dims(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ExpandDimsOp)
    axis = op.axis.value.data
    rank = rank_of(op.result.type)
    _apply(emitter, op, lambda piece: expanded(emitter, piece, axis, rank))


def expanded(emitter: Emitter, piece: Piece, axis: int, rank: int) -> Piece:
    """A piece with an axis of extent 1 put in, which gives it `rank`."""
    if piece.is_scalar:
        return piece
    below = axis_bit(axis) - 1
    axes = (piece.axes & below) | ((piece.axes & ~below) << 1)
    index = ", ".join([":"] * (axis + 1) + ["None"])
    return emitter.pure(f"{{0}}[{index}]", piece, axes=axes, rank=rank)


def _trans(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, TransOp)
    order = list(op.order.get_values())
    _apply(emitter, op, lambda piece: transposed(emitter, piece, order))


def transposed(emitter: Emitter, piece: Piece, order: Sequence[int]) -> Piece:
    """A piece with its axes in another order."""
    if piece.is_scalar or list(order) == sorted(order):
        return piece
    axes = piece.axes & PROGRAM
    for target, source in enumerate(order):
        if piece.axes & axis_bit(source):
            axes |= axis_bit(target)
    if axes & ~PROGRAM == 0:
        return piece  # every extent is 1
    indices = ", ".join(str(index) for index in (0, *(source + 1 for source in order)))
    return emitter.pure(f"{{0}}.transpose({indices})", piece, axes=axes)


# With one.


def _reshape(emitter: Emitter, op: Operation) -> None:
    source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    _apply(emitter, op, lambda piece: reshaped(emitter, piece, source, target))


def reshaped(
    emitter: Emitter, piece: Piece, source: tuple[int, ...], target: tuple[int, ...]
) -> Piece:
    """A piece in another shape, in row-major order."""
    if piece.is_scalar or source == target:
        return piece
    axes = _axes_kept(piece.axes, source, target)
    if axes is None:
        piece = emitter.grown(piece, source, all_axes(source))
        axes = (piece.axes & PROGRAM) | all_axes(target)
    extents = [extent if axes & axis_bit(axis) else 1 for axis, extent in enumerate(target)]
    shape = ", ".join(str(extent) for extent in (-1, *extents))
    return emitter.pure(f"{{0}}.reshape({shape})", piece, axes=axes, rank=len(target))


def _axes_kept(axes: int, source: tuple[int, ...], target: tuple[int, ...]) -> int | None:
    """Live axes after a reshape that only adds or drops axes of extent 1; None for others."""
    if not axes & ~PROGRAM:
        return axes
    long = [axis for axis, extent in enumerate(source) if extent != 1]
    other = [axis for axis, extent in enumerate(target) if extent != 1]
    if [source[axis] for axis in long] != [target[axis] for axis in other]:
        return None
    kept = axes & PROGRAM
    for old, new in zip(long, other, strict=True):
        if axes & axis_bit(old):
            kept |= axis_bit(new)
    return kept


def full_piece(emitter: Emitter, value: SSAValue) -> Piece:
    """The array of an operand with all its elements."""
    shape = shape_of(value.type)
    piece = emitter.piece(value)
    axes = all_axes(shape)
    if piece.is_scalar and not axes:
        axes = PROGRAM  # an array all the same
    return emitter.grown(piece, shape, axes)


def _full(emitter: Emitter, piece: Piece, shape: tuple[int, ...]) -> Piece:
    axes = all_axes(shape)
    return emitter.grown(piece, shape, axes or PROGRAM)


def _two_into_one(function: str) -> Rule:
    def rule(emitter: Emitter, op: Operation) -> None:
        source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)

        def combine(a: Piece, b: Piece) -> Piece:
            a, b = _full(emitter, a, source), _full(emitter, b, source)
            axes = ((a.axes | b.axes) & PROGRAM) | all_axes(target)
            return emitter.pure(f"{function}({{0}}, {{1}})", a, b, axes=axes, rank=len(target))

        one, other = (emitter.tensor(operand) for operand in op.operands)
        if one.piece.is_scalar and other.piece.text == one.piece.text:
            emitter.define(op.results[0], one)
            return
        piece = combine(one.piece, other.piece)
        shadows = _combined_shadows(emitter, one, other, combine)
        emitter.define(op.results[0], Tensor(piece, shadows=shadows))

    return rule


def _combined_shadows(
    emitter: Emitter, one: Tensor, other: Tensor, combine: Callable[[Piece, Piece], Piece]
) -> tuple[Shadow, ...]:
    if not one.shadows and not other.shadows:
        return ()
    first = (one.shadows or other.shadows)[0]
    defined = [
        emitter.conjunction([each.piece for each in value.shadows]) for value in (one, other)
    ]
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
        def change(piece: Piece) -> Piece:
            if piece.is_scalar:
                return piece
            position = index if piece.axes & axis_bit(last) else 0
            axes = piece.axes & ~axis_bit(last)
            if axes == 0:
                return emitter.pure(f"{{0}}.reshape(-1)[{position}]", piece, axes=0, rank=0)
            return emitter.pure(f"{{0}}[..., {position}]", piece, axes=axes, rank=last)

        return change

    for index, result in enumerate(op.results):
        emitter.define(result, moved(emitter, value, half(index)))


def _gather(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, GatherOp)
    shape = shape_of(op.result.type)
    axis = op.axis.value.data
    source_shape = shape_of(op.src.type)
    indices = full_piece(emitter, op.indices)
    value = emitter.tensor(op.src)

    def change(piece: Piece) -> Piece:
        if piece.is_scalar:
            return piece
        piece = _full(emitter, piece, source_shape)
        axes = ((piece.axes | indices.axes) & PROGRAM) | all_axes(shape)
        text = f"gather({{0}}, {{1}}, {axis + 1})"
        return emitter.pure(text, piece, indices, axes=axes, rank=len(shape))

    extent = source_shape[axis]
    inside = emitter.pure(f"within({{0}}, {extent})", emitter.piece(op.indices), hint="inside")
    shadows = (
        *emitter.shadow_map(value, change),
        *emitter.shadows(op.indices),
        Shadow(inside, op.location, f"an index is not in 0 … {extent - 1} here"),
    )
    emitter.define(op.result, Tensor(change(value.piece), shadows=shadows))


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
