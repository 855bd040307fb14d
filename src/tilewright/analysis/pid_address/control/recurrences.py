"""Loop-carried values, in closed form where there is one.

A body is evaluated once with a placeholder for every carried integer x. From the value y that it
yields follows x in iteration ``it``, where x0 is the initial value::

    y = x                        x0
    y = x + c                    x0 + c*it                     c the same in every iteration
    y = x + a*it + b             x0 + b*it + a*it*(it - 1)/2
    y free of what is carried    sel(it = 0, x0, y[it := it - 1])

Solved values are put into the others until nothing changes. What is left is opaque: it depends on
everything that it can be computed from. If at least its steps are the same in all lanes, only
the sum of the steps is opaque and the lanes of x0 stay visible.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.ir import SSAValue

from tilewright.analysis.affine import Atom, Formula, Interval, Poly, Substitution, SymbolKind
from tilewright.analysis.pid_address.control.closed_forms import (
    ClosedForm,
    Delayed,
    DelayedCondition,
    Same,
    Sum,
)
from tilewright.analysis.pid_address.report import Loop
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.types import integer_range
from tilewright.analysis.pid_address.values import (
    Base,
    BlockPointer,
    Boolean,
    Data,
    Descriptor,
    Integer,
    Pointer,
    Value,
    base_of,
    basis_of,
    deps_of,
    parts,
)

_ANY = Interval()
SUM_OF_STEPS = ".step"
"""What the key of a sum of steps ends with, after the name of the value that is carried."""


@dataclass
class RecurrenceCell:
    """One integer that is carried, or what else there is to know of a carried value."""

    placeholder: Poly | Formula | int
    """A polynomial, a predicate, or a bit if only dependencies are sought."""
    first: Integer | Boolean | Data
    form: ClosedForm | None = None
    solution: Integer | Boolean | None = None
    """The value inside the loop."""
    next: Integer | Boolean | Data | None = None

    @property
    def bit(self) -> int:
        known = self.placeholder
        if isinstance(known, int):
            return known
        return known.space.dep_bit(_cell_name(known))


def _cell_name(placeholder: Poly | Formula) -> str:
    if isinstance(placeholder, Formula):
        return placeholder.name
    atom = placeholder.atom
    assert atom is not None
    return atom.name


@dataclass
class Carried:
    """A value that a loop carries."""

    target: SSAValue
    first: Value
    base: Base | None
    cells: list[RecurrenceCell] = field(default_factory=list[RecurrenceCell])


def carried(scope: Scope, target: SSAValue, first: Value, *, same_base: bool) -> Carried:
    """A carried value with placeholders; `same_base`: whether a pointer keeps its base."""
    base = base_of(first)
    if base is not None and not same_base:
        base = Base("?", None, None, base.deps)
    value = Carried(target, first, base)
    shape = scope.shape(target)
    if isinstance(first, Pointer | Integer | BlockPointer | Descriptor):
        limits = integer_range(target.type) if isinstance(first, Integer) else _ANY
        inner = shape if isinstance(first, Pointer | Integer) else ()
        lanes = [scope.atoms.lane(dim, extent) for dim, extent in enumerate(inner) if extent > 1]
        for part in parts(first):
            value.cells.append(RecurrenceCell(scope.atoms.placeholder(lanes, limits), part))
    elif isinstance(first, Boolean):
        lanes = [scope.atoms.lane(dim, extent) for dim, extent in enumerate(shape) if extent > 1]
        value.cells.append(RecurrenceCell(scope.atoms.placeholder_predicate(lanes), first))
    else:
        data = Data(deps_of(first), basis_of(first))
        value.cells.append(RecurrenceCell(scope.atoms.placeholder_mask(), data))
    return value


def placeholder_value(value: Carried) -> Value:
    """The carried value with its placeholders in place."""
    placed: list[Integer] = []
    for cell in value.cells:
        match cell.placeholder:
            case Poly():
                placed.append(Integer(cell.placeholder, cell.placeholder))
            case Formula():
                return Boolean(cell.placeholder)
            case _:
                return Data(cell.placeholder)
    return rebuilt(value.first, value.base, placed)


def rebuilt(like: Value, base: Base | None, integers: Sequence[Integer]) -> Value:
    """A value like another, with other integers."""
    if isinstance(like, Integer):
        return integers[0]
    assert base is not None
    if isinstance(like, Pointer):
        return Pointer(base, integers[0])
    if isinstance(like, BlockPointer):
        rank = len(like.shape)
        shape, strides, offsets = (
            tuple(integers[1 + k * rank : 1 + (k + 1) * rank]) for k in range(3)
        )
        return BlockPointer(base, integers[0], shape, strides, offsets, like.block, like.order)
    assert isinstance(like, Descriptor)
    rank = len(like.shape)
    shape, strides = (tuple(integers[1 + k * rank : 1 + (k + 1) * rank]) for k in range(2))
    return Descriptor(base, integers[0], shape, strides, like.block, like.is_argument)


def record_yield(value: Carried, following: Value) -> bool:
    """Record what the body yields; False if a pointer changes its base."""
    own = parts(following)
    if type(following) is type(value.first) and len(own) == len(value.cells) and own:
        for cell, part in zip(value.cells, own, strict=True):
            cell.next = part
        return value.base is None or value.base.is_top or base_of(following) == value.base
    if isinstance(following, Boolean) and isinstance(value.first, Boolean):
        value.cells[0].next = following
        return True
    rest = Data(deps_of(following), basis_of(following))
    for cell in value.cells:
        cell.next = rest
    return value.base is None or value.base.is_top


class Solver:
    """Closed forms for the values of one loop."""

    def __init__(self, scope: Scope, loop: Loop, values: Sequence[Carried]) -> None:
        """`scope` is that of the loop's body."""
        self._scope = scope
        self._counter = loop.counter
        self._values = values
        self._cells = [cell for value in values for cell in value.cells]
        self._own = 0
        for cell in self._cells:
            self._own |= cell.bit
        self._varying = loop.counter.deps_mask
        self._deps = self._closures()

    def solve(self) -> None:
        """Find a solution for every cell that has one."""
        progress = True
        while progress:
            progress = False
            for cell in self._cells:
                if cell.solution is None and self._try(cell):
                    progress = True

    # Closed forms.

    def _try(self, cell: RecurrenceCell) -> bool:
        first, following = cell.first, cell.next
        if isinstance(first, Integer) and isinstance(following, Integer):
            cell.form = self._integer_form(cell, first, following)
        elif isinstance(first, Boolean) and isinstance(following, Boolean):
            cell.form = self._boolean_form(cell, first, following)
        if cell.form is None:
            return False
        cell.solution = cell.form.at(self._scope, self._counter, self._count())
        return True

    def _integer_form(
        self, cell: RecurrenceCell, first: Integer, following: Integer
    ) -> ClosedForm | None:
        placeholder = cell.placeholder
        assert isinstance(placeholder, Poly)
        basis = first.basis | following.basis
        after = self._resolved(following.expr)
        if after in (placeholder, first.expr):
            return Same(first, basis)
        step = after - placeholder
        if not step.deps_mask & self._own:
            return self._sum(first, step, basis)
        return None if after.deps_mask & self._own else Delayed(first, after, basis)

    def _sum(self, first: Integer, step: Poly, basis: int) -> Sum | None:
        zero = self._scope.space.zero
        if not step.deps_mask & self._varying:
            return Sum(first, step, zero, basis)
        slope = step.coefficient_of(self._counter)
        if slope is None or slope.deps_mask & self._varying:
            return None
        constant = step - slope * self._count()
        if constant.deps_mask & self._varying:
            return None
        return Sum(first, constant, slope, basis)

    def _boolean_form(
        self, cell: RecurrenceCell, first: Boolean, following: Boolean
    ) -> ClosedForm | None:
        basis = first.basis | following.basis
        if following.formula in (cell.placeholder, first.formula):
            return Same(first, basis)
        if following.formula.deps_mask & self._own:
            return None
        return DelayedCondition(first, following, basis)

    def _count(self) -> Poly:
        return self._scope.space.of_atom(self._counter)

    def _resolved(self, expr: Poly) -> Poly:
        """`expr` with solved values in place of their placeholders."""
        if not expr.deps_mask & self._own:
            return expr
        solved = {
            _cell_name(cell.placeholder): cell.solution
            for cell in self._cells
            if isinstance(cell.placeholder, Poly) and isinstance(cell.solution, Integer)
        }
        replacements: dict[Atom, Poly] = {}
        for atom in expr.atoms_within():
            if atom.kind is SymbolKind.CALL and atom.name in solved:
                solution = solved[atom.name]
                assert solution is not None
                replacements[atom] = self._at_lanes(atom, solution.expr)
        if not replacements:
            return expr
        return Substitution(self._scope.ctx, replacements).poly(expr)

    def _at_lanes(self, atom: Atom, solution: Poly) -> Poly:
        """A solution where the body has moved the lanes of its placeholder."""
        own = next(
            cell.placeholder.atom
            for cell in self._cells
            if isinstance(cell.placeholder, Poly) and _cell_name(cell.placeholder) == atom.name
        )
        assert own is not None
        moved = {
            lane.atom: position
            for lane, position in zip(own.args, atom.args, strict=True)
            if lane != position and lane.atom is not None
        }
        return Substitution(self._scope.ctx, moved).poly(solution) if moved else solution

    # Dependencies.

    def _closures(self) -> Mapping[int, int]:
        """By cell: everything it can be computed from."""
        masks = {
            cell.bit: _mask(cell.first) | (0 if cell.next is None else _mask(cell.next))
            for cell in self._cells
        }
        for _ in self._cells:
            changed = False
            for bit, mask in masks.items():
                wider = mask
                for other, more in masks.items():
                    if mask & other:
                        wider |= more
                if wider != mask:
                    masks[bit] = wider
                    changed = True
            if not changed:
                break
        return masks

    def closed(self, mask: int) -> int:
        """Dependencies with placeholders replaced by what they stand for."""
        for cell in self._cells:
            if mask & cell.bit:
                mask |= self._deps[cell.bit]
        return mask & ~self._own

    # Values.

    def value(self, value: Carried) -> Value:
        """The carried value in iteration ``it``."""
        solved: list[Integer] = []
        for index, cell in enumerate(value.cells):
            match cell.first:
                case Integer():
                    found = cell.solution
                    known = found if isinstance(found, Integer) else None
                    solved.append(known or self._opaque(value, cell, index))
                case Boolean():
                    return self._boolean(value, cell)
                case Data():
                    return self._data(value, cell)
        return rebuilt(value.first, self._base(value), solved)

    def _base(self, value: Carried) -> Base | None:
        base = value.base
        if base is None or not base.is_top:
            return base
        mask = base.deps
        for cell in value.cells:
            mask |= self.closed(self._deps[cell.bit])
        return replace(base, deps=mask | self._varying | self._scope.atoms.carried)

    def _boolean(self, value: Carried, cell: RecurrenceCell) -> Value:
        if isinstance(cell.solution, Boolean):
            return cell.solution
        mask = self._unsolved_mask(cell)
        return Boolean(self._scope.opaque_formula(value.target, mask), _basis(cell))

    def _data(self, value: Carried, cell: RecurrenceCell) -> Value:
        mask = self.closed(self._deps[cell.bit]) | self._varying
        if isinstance(value.first, Data):
            return Data(mask, _basis(cell))
        return self._scope.unknown(value.target, mask | self._scope.atoms.carried, _basis(cell))

    def _unsolved_mask(self, cell: RecurrenceCell) -> int:
        return self.closed(self._deps[cell.bit]) | self._varying | self._scope.atoms.carried

    def _opaque(self, value: Carried, cell: RecurrenceCell, index: int) -> Integer:
        """A value without a closed form; of its steps, what they have in common."""
        scope, first = self._scope, cell.first
        assert isinstance(first, Integer) and isinstance(cell.placeholder, Poly)
        name = scope.opaque_name(value.target) + (f".{index}" if len(value.cells) > 1 else "")
        basis = _basis(cell)
        if isinstance(cell.next, Integer):
            step = self._resolved(cell.next.expr) - cell.placeholder
            mask = self.closed(step.deps_mask) | self._varying | scope.atoms.carried
            if not mask & scope.atoms.any_lane and not step.deps_mask & cell.bit:
                rise = self._sum_of_steps(f"{name}{SUM_OF_STEPS}", mask, step)
                expr = scope.ctx.limited(first.expr + rise)
                return Integer(expr, None, is_simple=False, basis=basis)
        limits = integer_range(value.target.type) if isinstance(value.first, Integer) else _ANY
        shape = scope.shape(value.target)
        expr = scope.atoms.opaque(name, self._unsolved_mask(cell), shape, limits)
        return Integer(expr, expr, basis=basis)

    def _sum_of_steps(self, name: str, mask: int, step: Poly) -> Poly:
        """The sum of steps so far: none at first, so every divisor of a step divides it."""
        ctx = self._scope.ctx
        each = ctx.range(step)
        low = 0 if each.lo is not None and each.lo >= 0 else None
        high = 0 if each.hi is not None and each.hi <= 0 else None
        divisor = ctx.congruence(step).divisor or 1
        return self._scope.atoms.opaque(name, mask, (), Interval(low, high), divisor)

    def after(
        self, outer: Scope, result: SSAValue, value: Carried, trips: Poly | None, mask: int
    ) -> Value:
        """The value after the loop; `mask`: what the trip count depends on."""
        forms = [cell.form for cell in value.cells]
        solved = [form for form in forms if form is not None]
        if trips is None or len(solved) < len(forms):
            return self.last_value(result, self.value(value), mask)
        parts_at_end = [form.at(outer, self._counter, trips) for form in solved]
        integers = [part for part in parts_at_end if isinstance(part, Integer)]
        if len(integers) < len(parts_at_end):
            return parts_at_end[0]
        return rebuilt(value.first, self._base(value), integers)

    def last_value(self, target: SSAValue, inside: Value, mask: int) -> Value:
        """A value of the last iteration, when the trip count is unknown."""
        if not deps_of(inside) & self._varying:
            return inside
        mask = (deps_of(inside) | mask) & ~self._varying | self._scope.atoms.carried
        basis = basis_of(inside)
        if isinstance(inside, Data):
            return Data(mask, basis)
        if isinstance(inside, Pointer) and not inside.base.deps & self._varying:
            expr = self._scope.atoms.opaque(
                self._scope.opaque_name(target), mask, self._scope.shape(target), _ANY
            )
            return Pointer(inside.base, Integer(expr, expr, basis=basis))
        return self._scope.unknown(target, mask, basis)


def _mask(value: Integer | Boolean | Data) -> int:
    return deps_of(value)


def _basis(cell: RecurrenceCell) -> int:
    return basis_of(cell.first) | (0 if cell.next is None else basis_of(cell.next))
