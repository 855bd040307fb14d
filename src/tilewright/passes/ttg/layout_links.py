"""How the layouts of an op's operands and results hang together.

A link maps the layout of an operand to that of a result, and back::

    op                     forward                     backward
    arith.addf, broadcast  L                           L
    tt.reduce (axis)       slice<axis, L>              P of slice<axis, P>
    tt.expand_dims (axis)  P of slice<axis, P>         slice<axis, L>
    tt.trans (order)       L turned                    L turned back
    tt.reshape             the same owners             the same owners
    tt.join, tt.split      a register bit more, less   ... and back
    yield to a loop        L                           L

Either direction may have no result. Without a forward result the result takes the layout that its
users require, and the operand is converted; without a backward result the op's result cannot be
requested in that layout. Ops that are not in the tables have no links: operands stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.elementwise import Elementwise
from tilewright.dialects.tlx import ReleaseLayoutOp, RequireLayoutOp
from tilewright.dialects.tt import ExpandDimsOp, ReduceOp, ReshapeOp, TransOp
from tilewright.dialects.tt.layout_rules import LayoutRules
from tilewright.dialects.ttg.base import integers
from tilewright.dialects.ttg.distributed import SliceEncoding
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.dialects.type_utils import encoding_of, is_tensor, shape_of, tensors_among
from tilewright.ir.interfaces import Edge, RegionBranch
from tilewright.passes.ttg.linear import halved, joined, reshaped, turned

Change: TypeAlias = Callable[[Attribute], Attribute | None]


@dataclass(frozen=True)
class Link:
    """`source`, an operand, and `target`, a result or block argument."""

    source: SSAValue
    target: SSAValue
    forward: Change
    backward: Change


def same(layout: Attribute) -> Attribute | None:
    """The layout as it is."""
    return layout


def no_layout(layout: Attribute) -> Attribute | None:
    """A direction in which no layout can be derived."""
    return None


_ALIKE = frozenset(
    (
        "tt.broadcast",
        "tt.scan",
        "tt.map_elementwise",
        "tt.elementwise_inline_asm",
        "tt.extern_elementwise",
    )
)
"""Ops beside the elementwise ones whose tensors all have one layout."""


def is_alike(op: Operation) -> bool:
    """Whether all tensors of `op` have the same layout."""
    return op.name in _ALIKE or op.get_trait(Elementwise) is not None


def links_of(op: Operation) -> list[Link]:
    """The links that `op` makes, those of control flow among them."""
    rule = _RULES.get(op.name)
    if rule is not None:
        return list(rule(op))
    if is_alike(op):
        return list(_alike(op))
    return [
        Link(source, target, same, same)
        for edge in edges_of(op)
        for source, target in zip(edge.operands, edge.inputs, strict=True)
        if is_tensor(source.type)
    ]


def edges_of(op: Operation) -> Iterator[Edge]:
    """All ways into, within and out of the regions of a structured op."""
    trait = op.get_trait(RegionBranch)
    if trait is None:
        return
    yield from trait.successors(op, op)
    for region in op.regions:
        yield from trait.successors(op, region)


def _alike(op: Operation) -> Iterator[Link]:
    for source in tensors_among(op.operands):
        for target in tensors_among(op.results):
            yield Link(source, target, same, same)


def _in_pairs(op: Operation) -> Iterator[Link]:
    for source, target in zip(op.operands, op.results, strict=True):
        yield Link(source, target, same, same)


def _reduce(op: Operation) -> Iterator[Link]:
    assert isinstance(op, ReduceOp)
    axis = op.axis.value.data
    for source, target in zip(op.operands, op.results, strict=True):
        if is_tensor(target.type):
            yield Link(source, target, sliced(axis), _parent(axis))


def _expand_dims(op: Operation) -> Iterator[Link]:
    assert isinstance(op, ExpandDimsOp)
    axis = op.axis.value.data
    yield Link(op.src, op.result, _parent(axis), sliced(axis))


def sliced(axis: int) -> Change:
    """The layout without dimension `axis`."""
    return lambda layout: SliceEncoding(dim=axis, parent=layout)


def _parent(axis: int) -> Change:
    def change(layout: Attribute) -> Attribute | None:
        if not isinstance(layout, SliceEncoding) or layout.dim != axis:
            return None
        return layout.parent

    return change


def _trans(op: Operation) -> Iterator[Link]:
    assert isinstance(op, TransOp)
    order = integers(op.order)
    back = [order.index(dim) for dim in range(len(order))]
    yield Link(
        op.src,
        op.result,
        _turned(shape_of(op.src.type), order),
        _turned(shape_of(op.result.type), tuple(back)),
    )


def _turned(shape: tuple[int, ...], order: tuple[int, ...]) -> Change:
    def change(layout: Attribute) -> Attribute | None:
        found = layout.after_trans(shape, order) if isinstance(layout, LayoutRules) else None
        return turned(layout, shape, order) if found is None else found

    return change


def _reshape(op: Operation) -> Iterator[Link]:
    assert isinstance(op, ReshapeOp)
    if op.allow_reorder is not None:
        return  # any layout holds the elements
    before, after = shape_of(op.src.type), shape_of(op.result.type)

    def back(layout: Attribute) -> Attribute | None:
        # Triton compares with what it infers itself, letter by letter: only a layout that a reshape
        # infers again may be required of one.
        found = reshaped(layout, after, before)
        is_exact = found is not None and reshaped(found, before, after) == layout
        return found if is_exact else None

    yield Link(op.src, op.result, lambda layout: reshaped(layout, before, after), back)


def _join(op: Operation) -> Iterator[Link]:
    pairs = shape_of(op.results[0].type)
    for source in op.operands:
        yield Link(
            source,
            op.results[0],
            lambda layout: joined(layout, pairs[:-1]),
            lambda layout: halved(layout, pairs),
        )


def _split(op: Operation) -> Iterator[Link]:
    pairs = shape_of(op.operands[0].type)
    for target in op.results:
        yield Link(
            op.operands[0],
            target,
            lambda layout: halved(layout, pairs),
            lambda layout: joined(layout, pairs[:-1]),
        )


def _require(op: Operation) -> Iterator[Link]:
    assert isinstance(op, RequireLayoutOp)
    if is_tensor(op.src.type):
        yield Link(op.src, op.result, no_layout, same)


def _release(op: Operation) -> Iterator[Link]:
    assert isinstance(op, ReleaseLayoutOp)
    yield Link(op.src, op.result, same, same)


def _gather(op: Operation) -> Iterator[Link]:
    # The indices decide; what they point into is read through shared memory.
    yield Link(op.operands[1], op.results[0], same, same)


_RULES: Mapping[str, Callable[[Operation], Iterator[Link]]] = {
    "tt.reduce": _reduce,
    "tt.expand_dims": _expand_dims,
    "tt.trans": _trans,
    "tt.reshape": _reshape,
    "tt.join": _join,
    "tt.split": _split,
    "tt.gather": _gather,
    "ttng.warp_group_dot_wait": _in_pairs,
    "tlx.require_layout": _require,
    "tlx.release_layout": _release,
}


def fixed_layout(value: SSAValue) -> Attribute | None:
    """The layout that the type of `value` has already, without marks."""
    layout = encoding_of(value.type)
    return None if layout is None else unwrapped(layout)
