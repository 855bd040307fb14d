"""Shape ops: elements move, so lane symbols are renamed.

``expand_dims`` and ``trans`` rename lanes, ``reshape`` writes a source lane as quotient and
remainder of the flat index, ``join`` and ``split`` interpolate between two tensors along a last
dimension of extent 2. Ops that may put elements in any order (``cat``, a reshape with
``allow_reorder``) leave only range and dependencies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.affine import Atom, Interval, Poly, Substitution
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.transfer.arith import Rule
from tilewright.analysis.pid_address.types import is_boolean
from tilewright.analysis.pid_address.values import (
    Base,
    Boolean,
    Data,
    Integer,
    Pointer,
    Value,
    basis_of,
    deps_of,
)
from tilewright.dialects.tt import ExpandDimsOp, GatherOp, MakeRangeOp, ReshapeOp, TransOp
from tilewright.dialects.type_utils import shape_of


def _make_range(scope: Scope, op: Operation) -> None:
    assert isinstance(op, MakeRangeOp)
    first, end = op.start.value.data, op.end.value.data
    expr = scope.atoms.lane(0, end - first) + first
    scope.set(op.results[0], Integer(expr, expr))


def _same(scope: Scope, op: Operation) -> None:
    """A scalar in every lane, lanes repeated, another layout: the expression stays."""
    scope.set(op.results[0], scope.get(op.operands[0]))


# Renaming.


class Renaming:
    """Lanes replaced in every part of a value."""

    def __init__(
        self, scope: Scope, lanes: Mapping[Atom, Poly], targets: Sequence[Sequence[int]]
    ) -> None:
        """`lanes`: what each lane becomes; `targets`: in which dimensions it then stands."""
        self._scope = scope
        self._substitution = Substitution(scope.ctx, lanes) if lanes else None
        self._targets = targets

    def poly(self, poly: Poly) -> Poly:
        return poly if self._substitution is None else self._substitution.poly(poly)

    def integer(self, value: Integer) -> Integer:
        expr = self.poly(value.expr)
        if value.virtual is value.expr:
            return Integer(expr, expr, value.is_simple, value.basis)
        virtual = None if value.virtual is None else self.poly(value.virtual)
        return Integer(expr, virtual, value.is_simple, value.basis)

    def value(self, value: Value) -> Value:
        match value:
            case Integer():
                return self.integer(value)
            case Boolean():
                formula = value.formula
                if self._substitution is not None:
                    formula = self._substitution.formula(formula)
                return Boolean(formula, value.basis)
            case Pointer():
                return Pointer(self._base(value.base), self.integer(value.offset))
            case Data():
                return Data(self._moved(value.deps), value.basis)
            case _:
                return value

    def _base(self, base: Base) -> Base:
        """A base that was loaded may differ from lane to lane."""
        if not base.deps & self._scope.atoms.any_lane:
            return base
        if base.address is None:
            return replace(base, deps=self._moved(base.deps))
        return replace(base, address=self.poly(base.address), deps=self._moved(base.deps))

    def _moved(self, mask: int) -> int:
        return self._scope.atoms.moved(mask, self._targets)


def _rename(scope: Scope, op: Operation, target_of: Mapping[int, int]) -> None:
    """Source dimension d becomes result dimension `target_of[d]`."""
    source = shape_of(op.operands[0].type)
    atoms = scope.atoms
    lanes: dict[Atom, Poly] = {}
    for dim, extent in enumerate(source):
        atom = atoms.lane(dim, extent).atom
        if atom is not None and target_of[dim] != dim:
            lanes[atom] = atoms.lane(target_of[dim], extent)
    targets = [(target_of[dim],) for dim in range(len(source))]
    renaming = Renaming(scope, lanes, targets)
    scope.set(op.results[0], renaming.value(scope.get(op.operands[0])))


def _expand_dims(scope: Scope, op: Operation) -> None:
    assert isinstance(op, ExpandDimsOp)
    axis = op.axis.value.data
    rank = len(shape_of(op.operands[0].type))
    _rename(scope, op, {dim: dim + (dim >= axis) for dim in range(rank)})


def _trans(scope: Scope, op: Operation) -> None:
    assert isinstance(op, TransOp)
    _rename(scope, op, {source: dim for dim, source in enumerate(op.order.get_values())})


# Reshaping.


def _reshape(scope: Scope, op: Operation) -> None:
    assert isinstance(op, ReshapeOp)
    source, target = shape_of(op.operands[0].type), shape_of(op.results[0].type)
    known = scope.get(op.operands[0])
    if op.allow_reorder is not None:
        _set_reordered(scope, op, [known])
        return
    lanes: dict[Atom, Poly] = {}
    flat = _flat_index(scope, target)
    everywhere = tuple(dim for dim, extent in enumerate(target) if extent > 1)
    stride = 1
    for dim in reversed(range(len(source))):
        extent = source[dim]
        atom = scope.atoms.lane(dim, extent).atom
        if atom is not None:
            lanes[atom] = scope.ctx.mod(scope.ctx.fdiv(flat, stride), extent)
        stride *= extent
    renaming = Renaming(scope, lanes, [everywhere] * len(source))
    scope.set(op.results[0], renaming.value(known))


def _flat_index(scope: Scope, shape: Sequence[int]) -> Poly:
    index = scope.space.zero
    for dim, extent in enumerate(shape):
        index = index * extent + scope.atoms.lane(dim, extent)
    return index


def _set_reordered(scope: Scope, op: Operation, sources: Sequence[Value]) -> None:
    """Elements of some tensors in an order of their own."""
    result = op.results[0]
    atoms = scope.atoms
    mask, basis = 0, 0
    for source in sources:
        mask |= deps_of(source)
        basis |= basis_of(source)
    if not mask & atoms.any_lane and all(source == sources[0] for source in sources):
        scope.set(result, sources[0])
        return
    rank = len(shape_of(result.type))
    lanes = 0
    for dim in range(rank):
        atoms.lane(dim, shape_of(result.type)[dim])
        lanes |= atoms.lane_bit(dim)
    mask = (mask & ~atoms.any_lane) | lanes | atoms.unsupported
    integers = [source for source in sources if isinstance(source, Integer)]
    if len(integers) != len(sources) or is_boolean(result.type):
        scope.set(result, scope.unknown(result, mask, basis))
        return
    ranges = [scope.ctx.range(source.expr) for source in integers]
    hull = ranges[0]
    for other in ranges[1:]:
        hull = hull.hull(other)
    scope.set(result, _opaque(scope, result, mask, hull, basis))


def _opaque(scope: Scope, result: SSAValue, mask: int, limits: Interval, basis: int) -> Integer:
    name = scope.opaque_name(result)
    expr = scope.atoms.opaque(name, mask, shape_of(result.type), limits)
    return Integer(expr, expr, basis=basis)


def _cat(scope: Scope, op: Operation) -> None:
    _set_reordered(scope, op, [scope.get(operand) for operand in op.operands])


# Two tensors in one, and back.


def _join(scope: Scope, op: Operation) -> None:
    left, right = map(scope.get, op.operands)
    result = op.results[0]
    lane = scope.atoms.lane(len(shape_of(result.type)) - 1, 2)
    scope.set(result, interpolated(scope, result, lane, left, right))


def interpolated(scope: Scope, result: SSAValue, lane: Poly, left: Value, right: Value) -> Value:
    """`left` where the lane is 0, `right` where it is 1."""
    match left, right:
        case Integer(), Integer():
            return _between(scope, lane, left, right)
        case Boolean(), Boolean():
            first = scope.ctx.compare("=", lane, 0)
            formula = (first & left.formula) | (~first & right.formula)
            return Boolean(formula, left.basis | right.basis)
        case Pointer(), Pointer() if left.base == right.base:
            return Pointer(left.base, _between(scope, lane, left.offset, right.offset))
        case _:
            mask = deps_of(left) | deps_of(right) | lane.deps_mask
            basis = basis_of(left) | basis_of(right)
            if isinstance(left, Data) and isinstance(right, Data):
                return Data(mask, basis)
            return scope.unknown(result, mask | scope.atoms.unsupported, basis)


def _between(scope: Scope, lane: Poly, left: Integer, right: Integer) -> Integer:
    expr = scope.ctx.limited(left.expr + (right.expr - left.expr) * lane)
    basis = left.basis | right.basis
    if left.virtual is left.expr and right.virtual is right.expr:
        return Integer(expr, expr, basis=basis)
    if left.virtual is None or right.virtual is None:
        return Integer(expr, None, is_simple=False, basis=basis)
    virtual = left.virtual + (right.virtual - left.virtual) * lane
    return Integer(expr, virtual, is_simple=False, basis=basis)


def _split(scope: Scope, op: Operation) -> None:
    source = op.operands[0]
    shape = shape_of(source.type)
    last = len(shape) - 1
    atom = scope.atoms.lane(last, shape[last]).atom
    assert atom is not None
    targets = [(dim,) if dim != last else () for dim in range(len(shape))]
    for half, result in enumerate(op.results):
        renaming = Renaming(scope, {atom: scope.space.const(half)}, targets)
        scope.set(result, renaming.value(scope.get(source)))


def _gather(scope: Scope, op: Operation) -> None:
    """The source at other lanes: exact, if source and indices are."""
    assert isinstance(op, GatherOp)
    axis = op.axis.value.data
    source, indices = scope.get(op.operands[0]), scope.integer(op.operands[1])
    extent = shape_of(op.operands[0].type)[axis]
    atom = scope.atoms.lane(axis, extent).atom
    inside = Interval(0, extent - 1).contains(scope.ctx.range(indices.expr))
    if atom is None or not isinstance(source, Integer | Boolean) or not inside:
        scope.set_unknown(op, scope.atoms.unsupported)
        return
    rank = len(shape_of(op.results[0].type))
    renaming = Renaming(scope, {atom: indices.expr}, [tuple(range(rank))] * rank)
    moved = renaming.value(source)
    match moved:
        case Integer():
            plain = not indices.expr.deps_mask & scope.atoms.any_pid
            moved = replace(
                moved,
                virtual=moved.virtual if plain else None,
                basis=moved.basis | indices.basis,
            )
        case Boolean():
            moved = Boolean(moved.formula, moved.basis | indices.basis)
        case _:
            pass
    scope.set(op.results[0], moved)


def _unsplat(scope: Scope, op: Operation) -> None:
    """The only element: there are no lanes to replace."""
    _same(scope, op)


# Ops that mix the elements along one dimension.


def _reduce(scope: Scope, op: Operation) -> None:
    """Any function of all elements along an axis."""
    axis = op.properties["axis"]
    assert isinstance(axis, IntegerAttr)
    _set_mixed(scope, op, axis.value.data, keeps=False)


def _scan(scope: Scope, op: Operation) -> None:
    axis = op.properties["axis"]
    assert isinstance(axis, IntegerAttr)
    _set_mixed(scope, op, axis.value.data, keeps=True)


def _set_mixed(scope: Scope, op: Operation, axis: int, *, keeps: bool) -> None:
    atoms = scope.atoms
    rank = len(shape_of(op.operands[0].type))
    mask, basis = atoms.unsupported, 0
    for operand in op.operands:
        known = scope.get(operand)
        mask |= deps_of(known)
        basis |= basis_of(known)
    if keeps:
        # An element depends on those before it, whatever they depend on.
        atoms.lane(axis, shape_of(op.operands[0].type)[axis])
        mask |= atoms.lane_bit(axis)
    else:
        targets = [() if d == axis else (d - (d > axis),) for d in range(rank)]
        mask = atoms.moved(mask, targets)
    for result in op.results:
        scope.set(result, scope.unknown(result, mask, basis))


def _dot(scope: Scope, op: Operation) -> None:
    """Rows of one operand are combined with columns of the other: every lane may matter."""
    shape = shape_of(op.results[0].type)
    mask = scope.atoms.unsupported
    basis = 0
    for operand in op.operands:
        known = scope.get(operand)
        mask |= deps_of(known)
        basis |= basis_of(known)
    for dim, extent in enumerate(shape):
        scope.atoms.lane(dim, extent)
        mask |= scope.atoms.lane_bit(dim)
    for result in op.results:
        scope.set(result, scope.unknown(result, mask, basis))


SHAPE_RULES: Mapping[str, Rule] = {
    "tt.make_range": _make_range,
    "tt.splat": _same,
    "tt.broadcast": _same,
    "tt.expand_dims": _expand_dims,
    "tt.trans": _trans,
    "tt.reshape": _reshape,
    "tt.join": _join,
    "tt.split": _split,
    "tt.cat": _cat,
    "tt.gather": _gather,
    "tt.unsplat": _unsplat,
    "tt.reduce": _reduce,
    "tt.scan": _scan,
    "tt.histogram": _dot,
    "tt.dot": _dot,
    "tt.dot_scaled": _dot,
    "ttg.convert_layout": _same,
    "gluon.set_auto_layout": _same,
}
