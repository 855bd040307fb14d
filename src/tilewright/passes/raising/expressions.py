"""One element of a tensor value, at given indices.

A value with a buffer is read from it; an expression is computed from its operands. Structural ops
have no code: they change the indices. Values are cached by their indices, so that what several
stores of one loop need is computed once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation, OpResult, SSAValue

from tilewright.analysis.raising.constants import splat_attribute
from tilewright.analysis.raising.kinds import is_elementwise
from tilewright.dialects.arith import (
    AddiOp,
    CmpiOp,
    ConstantOp,
    DivuiOp,
    MaxsiOp,
    MinsiOp,
    RemuiOp,
    SelectOp,
    SubiOp,
)
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tt import (
    BroadcastOp,
    CatOp,
    ExpandDimsOp,
    GatherOp,
    MakeRangeOp,
    TransOp,
)
from tilewright.dialects.type_utils import element_type_of, is_tensor, shape_of
from tilewright.passes.raising.builder import Builder
from tilewright.passes.raising.scalar_ops import element_of
from tilewright.passes.raising.state import Raising

Indices = tuple[Mixed, ...]


@dataclass
class Point:
    """One iteration of a ``tile.parallel``: where code goes, and what is computed already."""

    at: Builder
    outer: Builder
    """Before the loop, for what all iterations share."""
    known: dict[tuple[SSAValue, Indices], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, Indices], SSAValue]
    )

    def inside(self, at: Builder) -> Point:
        """A nested block: sees what is known, adds nothing to it."""
        return Point(at, self.outer, dict(self.known))


def element(state: Raising, value: SSAValue, indices: Indices, point: Point) -> SSAValue:
    """The element of `value` at `indices`; a scalar is itself."""
    if not is_tensor(value.type):
        return state.scalar(value)
    found = point.known.get((value, indices))
    if found is None:
        found = point.known[value, indices] = _compute(state, value, indices, point)
    return found


def _compute(state: Raising, value: SSAValue, indices: Indices, point: Point) -> SSAValue:
    slot = state.slot(value)
    if slot is not None:
        at = indices[::-1] if slot.is_transposed else indices
        return point.at.value(LoadOp(state.buffer(slot), _listed(point, at)), value.name_hint)
    return define(state, value, indices, point)


def define(state: Raising, value: SSAValue, indices: Indices, point: Point) -> SSAValue:
    """Compute an element by the op that defines it, whatever buffer the value has."""
    assert isinstance(value, OpResult)
    op = value.op
    if is_elementwise(op):
        operands = [element(state, operand, indices, point) for operand in op.operands]
        return element_of(point.at, op, operands, value.index)
    return RULES[op.name](state, value, indices, point)


def _listed(point: Point, indices: Indices) -> list[SSAValue]:
    return [point.at.index(index) for index in indices]


# Structural ops.


def _constant(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    attribute = splat_attribute(value.op)
    assert attribute is not None
    return point.at.value(ConstantOp(attribute))


def _poison(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    return point.at.constant(0, element_type_of(value.type))


def _splat(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    return state.scalar(value.op.operands[0])


def _make_range(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    assert isinstance(value.op, MakeRangeOp)
    type = element_type_of(value.type)
    index = point.at.from_index(indices[0], type)
    begin = value.op.start.value.data
    if not begin:
        return index
    return point.at.value(AddiOp(index, point.at.constant(begin, type)))


def _expand(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    assert isinstance(value.op, ExpandDimsOp)
    axis = value.op.axis.value.data
    return element(state, value.op.src, indices[:axis] + indices[axis + 1 :], point)


def _broadcast(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    assert isinstance(value.op, BroadcastOp)
    source = value.op.src
    extents = zip(shape_of(source.type), indices, strict=True)
    return element(
        state, source, tuple(0 if extent == 1 else index for extent, index in extents), point
    )


def _trans(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    assert isinstance(value.op, TransOp)
    swapped: list[Mixed] = [0] * len(indices)
    for position, dim in enumerate(value.op.order.get_values()):
        swapped[dim] = indices[position]
    return element(state, value.op.src, tuple(swapped), point)


def _reshape(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    source = value.op.operands[0]
    at = point.at
    new, old = shape_of(value.type), shape_of(source.type)
    if [extent for extent in new if extent != 1] == [extent for extent in old if extent != 1]:
        remaining = iter(index for index, extent in zip(indices, new, strict=True) if extent != 1)
        same = tuple(0 if extent == 1 else next(remaining) for extent in old)
        return element(state, source, same, point)
    flat: Mixed = 0
    for index, extent in zip(indices, new, strict=True):
        flat = at.plus(at.times(flat, extent), index)
    split: list[Mixed] = []
    for extent in reversed(old):
        split.insert(0, _remainder(at, flat, extent))
        flat = _quotient(at, flat, extent)
    return element(state, source, tuple(split), point)


def _remainder(at: Builder, value: Mixed, by: int) -> Mixed:
    if isinstance(value, int):
        return value % by
    return 0 if by == 1 else at.value(RemuiOp(value, at.index(by)))


def _quotient(at: Builder, value: Mixed, by: int) -> Mixed:
    if isinstance(value, int):
        return value // by
    return value if by == 1 else at.value(DivuiOp(value, at.index(by)))


def _join(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    left, right = (element(state, each, indices[:-1], point) for each in value.op.operands)
    is_left = point.at.value(CmpiOp("eq", point.at.index(indices[-1]), point.at.index(0)))
    return point.at.value(SelectOp(is_left, left, right))


def _split(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    return element(state, value.op.operands[0], (*indices, value.index), point)


def _cat(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    assert isinstance(value.op, CatOp)
    at, count = point.at, shape_of(value.op.lhs.type)[0]
    index = at.index(indices[0])
    first = at.value(MinsiOp(index, at.index(count - 1)))
    second = at.value(MaxsiOp(at.value(SubiOp(index, at.index(count))), at.index(0)))
    left = element(state, value.op.lhs, (first, *indices[1:]), point)
    right = element(state, value.op.rhs, (second, *indices[1:]), point)
    is_left = at.value(CmpiOp("slt", index, at.index(count)))
    return at.value(SelectOp(is_left, left, right))


def _gather(state: Raising, value: OpResult, indices: Indices, point: Point) -> SSAValue:
    assert isinstance(value.op, GatherOp)
    axis = value.op.axis.value.data
    row = element(state, value.op.indices, indices, point)
    assert isinstance(row.type, IntegerType)
    at = (*indices[:axis], point.at.to_index(row), *indices[axis + 1 :])
    return element(state, value.op.src, at, point)


Rule = Callable[[Raising, OpResult, Indices, Point], SSAValue]

RULES: dict[str, Rule] = {
    "arith.constant": _constant,
    "ub.poison": _poison,
    "tt.splat": _splat,
    "tt.make_range": _make_range,
    "tt.expand_dims": _expand,
    "tt.broadcast": _broadcast,
    "tt.trans": _trans,
    "tt.reshape": _reshape,
    "tt.join": _join,
    "tt.split": _split,
    "tt.cat": _cat,
    "tt.gather": _gather,
}
"""By op; ``accesses`` adds the loads."""


LOADS = ("tt.load", "tt.descriptor_load", "tt.descriptor_gather", "tt.atomic_load")


def leaves(
    state: Raising, value: SSAValue, *, defining: bool = False, same: bool = True
) -> list[tuple[SSAValue, bool]]:
    """What an expression reads: values with buffers and loads, and whether at equal indices.

    `defining`: the op of `value` is computed, whatever buffer the value itself has.
    """
    found: list[tuple[SSAValue, bool]] = []
    work = [(value, same, defining)]
    seen: set[tuple[SSAValue, bool]] = set()
    while work:
        current, is_same, is_root = work.pop()
        if not is_tensor(current.type) or (current, is_same) in seen:
            continue
        seen.add((current, is_same))
        if not is_root and state.slot(current) is not None:
            found.append((current, is_same))
            continue
        owner = current.owner
        if not isinstance(owner, Operation):
            continue
        if owner.name in LOADS:
            found.append((current, is_same))
        keeps = is_same and (is_elementwise(owner) or owner.name in ("tt.addptr", *LOADS))
        work += [(operand, keeps, False) for operand in owner.operands]
    return found
