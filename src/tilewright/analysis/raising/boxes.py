"""From an access to the tensor it means and the box of it: see ``views`` for the rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.ir import Operation

from tilewright.analysis.affine import Atom, Formula, Poly, SymbolKind, conjunction
from tilewright.analysis.affine.division import divide
from tilewright.analysis.affine.substitute import substitute
from tilewright.analysis.affine.view import with_remainders
from tilewright.analysis.pid_address.atoms import Role, kind_of
from tilewright.analysis.pid_address.scope import Site
from tilewright.analysis.raising.addresses import (
    Addresses,
    is_around,
    is_available,
    is_computable,
    is_materialisable,
)
from tilewright.analysis.raising.masks import Bounds, bounds_of
from tilewright.analysis.raising.plan import Access
from tilewright.analysis.raising.values import feeds_gemms_only
from tilewright.analysis.raising.views import Box, View, is_address
from tilewright.analysis.raising.wrap import Wrapped, unwrap
from tilewright.dialects.ttng import AsyncTMACopyGlobalToLocalOp, AsyncTMACopyLocalToGlobalOp

_OF_FIRST = frozenset((SymbolKind.FDIV, SymbolKind.TDIV, SymbolKind.TREM))
"""Negative where the first operand is."""
_BY_TMA = (AsyncTMACopyGlobalToLocalOp, AsyncTMACopyLocalToGlobalOp)
"""Copies by tensor maps, which the host makes."""
MAX_RANK = 5
"""Dimensions of a view: as many as a tensor map has."""


@dataclass
class _Dimension:
    stride: Poly
    start: Poly
    extent: Poly | None
    lane: int | None
    part: int
    is_masked: bool = False


@dataclass
class Boxes:
    """Views found so far; equal ones are one."""

    addresses: Addresses
    views: list[View] = field(default_factory=list[View])

    def plan(self, op: Operation, access: Access) -> Box | None:
        """The box that an access means; None if it is none."""
        site = self.addresses.sites[op]
        if access.address is None:
            return None
        if is_address(access.base) and not isinstance(op, _BY_TMA):
            return _Planner(self, op, site, access, is_local=True).run()
        found = _Planner(self, op, site, access).run()
        needs_box = site.box is not None or _feeds_gemms(op)
        if found is None and needs_box and not isinstance(op, _BY_TMA):
            # Views that the kernel makes cost code, and allow whole boxes to be copied.
            found = _Planner(self, op, site, access, is_local=True).run()
        return found

    def index(self, view: View) -> int:
        for at, known in enumerate(self.views):
            if known == view:
                return at
        self.views.append(view)
        return len(self.views) - 1


class _Planner:
    def __init__(
        self, boxes: Boxes, op: Operation, site: Site, access: Access, *, is_local: bool = False
    ) -> None:
        self._boxes = boxes
        self._addresses = boxes.addresses
        self._op = op
        self._site = site
        self._access = access
        self._lanes = boxes.addresses.machine.atoms.lane_atoms(site.shape)
        self._zero = boxes.addresses.machine.space.zero
        self._is_local = is_local
        self._uses_coordinates = True
        self._found_negative = False

    def run(self) -> Box | None:
        """Over coordinates; without them, where what they leave for a start may be negative."""
        found = self._run()
        if found is None and self._found_negative:
            self._uses_coordinates = False
            found = self._run()
        return found

    def _run(self) -> Box | None:
        offset = self._site.offset.expr.exact_quotient(self._site.elem_bytes)
        wrapped = unwrap(self._addresses, self._op, self._site, offset, self._lanes)
        if wrapped is None:
            return None
        bounds = bounds_of(self._site.mask, self._lanes)
        if bounds is None:
            return None
        for dim, bound in wrapped.bounds.items():
            bounds.above.setdefault(dim, []).append(bound)
        dimensions = self._lane_dimensions(wrapped, bounds)
        if dimensions is None:
            return None
        return self._finish(wrapped, bounds, dimensions)

    def _lane_dimensions(self, wrapped: Wrapped, bounds: Bounds) -> list[_Dimension] | None:
        found: list[_Dimension] = []
        for dim, lane in enumerate(self._lanes):
            if lane is None:
                if dim in bounds.above or dim in bounds.below:
                    return None
                continue
            stride = wrapped.offset.coefficient_of(lane)
            if stride is None or not self._is_host(stride):
                return None
            limits = self._limits(bounds, dim)
            if limits is None:
                return None
            start, extent = limits
            if stride == 0:
                if extent is not None:
                    return None
                continue
            found.append(
                _Dimension(stride, start, extent, dim, self._site.shape[dim], extent is not None)
            )
        return found

    def _limits(self, bounds: Bounds, dim: int) -> tuple[Poly, Poly | None] | None:
        """Start and extent along a lane; None if the mask has no such form."""
        above, below = bounds.above.get(dim, []), bounds.below.get(dim, [])
        above = list(dict.fromkeys(above))
        below = [each for each in dict.fromkeys(below) if not self._holds_below(each)]
        if len(above) > 1 or len(below) > 1:
            return None
        if not above:
            return (self._zero, None) if not below else None
        rest = self._over_coordinates(above[0])
        stated = self._stated_start(dim)
        if stated is not None and self._is_host(stated - rest):
            return stated, stated - rest
        if below:
            start = self._over_coordinates(below[0])
        else:
            terms = {m: c for m, c in rest.terms.items() if not self._host_term(rest, m)}
            start = Poly(rest.space, terms)
            if _is_difference(start) or self._may_be_negative(start):
                return None
        extent = start - rest
        return (start, extent) if self._is_host(extent) else None

    def _stated_start(self, dim: int) -> Poly | None:
        """Where a block of a descriptor starts, as in the kernel: constants are no extents."""
        box = self._site.box
        if box is None or len(box.indices) != len(self._site.shape):
            return None
        return self._over_coordinates(box.indices[dim])

    def _holds_below(self, bound: Poly) -> bool:
        """Whether ``lane + bound >= 0`` holds anyway."""
        return self._site.scope.ctx.is_nonneg(bound)

    def _over_coordinates(self, poly: Poly) -> Poly:
        if not self._uses_coordinates:
            return poly
        return self._addresses.over_coordinates(poly, self._op)

    # What is left of the offset.

    def _finish(self, wrapped: Wrapped, bounds: Bounds, dimensions: list[_Dimension]) -> Box | None:
        rest = self._over_coordinates(wrapped.offset)
        for each in dimensions:
            lane = self._lanes[each.lane] if each.lane is not None else None
            assert lane is not None
            rest = rest - each.stride * (self._addresses.machine.space.of_atom(lane) + each.start)
        if self._mentions_lanes(rest):
            return None
        rest = with_remainders(self._over_coordinates(rest))
        origin, terms = self._split(rest)
        left = [term for term in terms if not self._join(dimensions, *term)]
        left = [term for term in left if not self._join(dimensions, *term, is_negative=True)]
        leading = self._leading(left)
        unmasked = [each for each in dimensions if not each.is_masked]
        if any(self._may_be_negative(each.start) for each in (*leading, *unmasked)):
            return None
        bounded = {each.lane for each in dimensions if each.lane in bounds.below}
        free = [each for each in (*leading, *dimensions) if each.lane not in bounded]
        origin = self._take_back(origin, free)
        for each in dimensions:
            if not each.is_masked:
                each.extent = self._unmasked_extent(each)
        ordered = [*leading, *_ordered(dimensions)]
        guard = self._guard(bounds)
        if len(ordered) > MAX_RANK or not ordered or guard is None:
            return None
        if not all(is_materialisable(self._addresses, each.start, self._op) for each in ordered):
            return None
        view = View(
            self._access.base,
            self._access.element,
            origin,
            tuple(each.extent for each in ordered),
            tuple(each.stride for each in ordered),
            self._is_local,
            self._access.divisor,
            self._is_local and self._site.box is not None and self._access.divisor is not None,
        )
        if self._is_local and not self._is_available(view):
            return None
        return Box(
            self._boxes.index(view),
            tuple(each.start for each in ordered),
            tuple(each.lane for each in ordered),
            tuple(each.part for each in ordered),
            frozenset(each.lane for each in ordered if each.is_masked and each.lane is not None),
            None if guard.truth is True else guard,
            bool(wrapped.bounds),
            frozenset(
                dim
                for dim, limits in bounds.below.items()
                if not all(self._holds_below(each) for each in limits)
            ),
        )

    def _may_be_negative(self, start: Poly) -> bool:
        """Whether differences make up a start: terms that the host computes are in the origin.

        An index below 0 would be outside, though its address is not. Values that are read from
        memory or given count as indices of their own.
        """
        start = self._over_programs(start)
        is_negative = _contains_difference(start) and not self._site.scope.ctx.is_nonneg(start)
        self._found_negative |= is_negative
        return is_negative

    def _take_back(self, origin: Poly, dimensions: Sequence[_Dimension]) -> Poly:
        """What is left of the origin, if parts of it belong to starts that may be negative.

        ``row + 1``, with a row of -1 that is read from memory or carried by a loop, is an index of
        the tensor, and -1 in a tensor that begins a row later is none.
        """
        for each in sorted(dimensions, key=lambda one: -one.stride.degree):
            if not origin.terms:
                break
            if not each.stride.terms or self._is_natural(each.start):
                continue
            steps, rest = divide(origin, each.stride)
            if steps.terms and min(steps.terms.values()) > 0:
                each.start, origin = each.start + steps, rest
                if each.extent is not None:
                    each.extent = each.extent + steps if each.is_masked else None
        return origin

    def _is_natural(self, start: Poly) -> bool:
        """Whether a start is known not to be negative."""
        return self._site.scope.ctx.is_nonneg(self._over_programs(start))

    def _over_programs(self, start: Poly) -> Poly:
        """The same with the definitions of coordinates."""
        known = self._addresses.machine.atoms.coordinates
        inner = {each: known[each] for each in start.atoms() if each in known}
        return substitute(self._site.scope.ctx, start, inner) if inner else start

    def _mentions_lanes(self, poly: Poly) -> bool:
        return any(kind_of(atom) == "lane" for atom in poly.atoms_within())

    def _split(self, rest: Poly) -> tuple[Poly, list[tuple[Poly, Poly]]]:
        """What the host can compute, and scalars of the program with their factors."""
        origin: dict[tuple[int, ...], int] = {}
        factors: dict[tuple[int, ...], dict[tuple[int, ...], int]] = {}
        for monomial, coefficient in rest.terms.items():
            host = tuple(id for id in monomial if self._is_host_atom(rest.space.atoms[id]))
            other = tuple(id for id in monomial if id not in host)
            if not other:
                origin[monomial] = coefficient
            else:
                factors.setdefault(other, {})[host] = coefficient
        terms = [
            (Poly(rest.space, {value: 1}), Poly(rest.space, stride))
            for value, stride in sorted(factors.items())
        ]
        return Poly(rest.space, origin), terms

    def _leading(self, terms: list[tuple[Poly, Poly]]) -> list[_Dimension]:
        """Dimensions of one element: ``stride * value``; multiples of a stride share one."""
        found: list[_Dimension] = []
        for value, stride in sorted(terms, key=lambda term: (term[1].degree, len(term[1].terms))):
            for each in found:
                factor, remainder = divide(stride, each.stride)
                if each.stride != 1 and not remainder.terms and factor.terms:
                    each.start = each.start + value * factor
                    each.extent = None
                    break
            else:
                found.append(_Dimension(stride, value, self._extent_of(value), None, 1))
        return found

    def _join(
        self,
        dimensions: list[_Dimension],
        value: Poly,
        stride: Poly,
        *,
        is_negative: bool = False,
    ) -> bool:
        """Add ``stride * value`` to the start of an unmasked dimension, if it is a multiple.

        Of a negative multiple that makes a difference, which no start is; but what else is in a
        start that may be negative needs it.
        """
        for each in sorted(dimensions, key=lambda one: one.stride.constant is not None):
            if each.is_masked or not each.stride.terms:
                continue
            factor, remainder = divide(stride, each.stride)
            if remainder.terms or factor.constant is None:
                continue
            if factor.constant > 0 or (is_negative and not self._is_natural(each.start)):
                each.start = each.start + value * factor.constant
                return True
        return False

    # Extents.

    def _unmasked_extent(self, dimension: _Dimension) -> Poly | None:
        """A bound of the elements along a dimension that no mask bounds; None if there is none."""
        total = self._zero + dimension.part
        for monomial, coefficient in dimension.start.terms.items():
            value = Poly(dimension.start.space, {monomial: 1})
            limit = self._extent_of(value)
            if limit is None or coefficient < 0 or not monomial:
                return None
            total = total + (limit - 1) * coefficient
        return total

    def _extent_of(self, value: Poly) -> Poly | None:
        """One past the largest value of a scalar of the program, as the host computes it."""
        atom = value.atom
        if atom is None:
            return None
        role = atom.role
        if isinstance(role, Role) and role.kind == "pid" and isinstance(role.key, int):
            return self._addresses.machine.atoms.programs[role.key]
        for loop in self._site.scope.loops:
            if loop.counter is atom and loop.trips is not None and self._is_host(loop.trips):
                return loop.trips
        return None

    def _guard(self, bounds: Bounds) -> Formula | None:
        """The conditions that all lanes share; None if code cannot compute them."""
        space = self._addresses.machine.space
        guard = conjunction(space, bounds.guards)
        for part in bounds.guards:
            if not is_computable(self._addresses, part, self._op):
                return None
        return guard

    # What the host can compute.

    def _is_available(self, view: View) -> bool:
        """Whether the kernel has all values of a view before the access."""
        known = (view.origin, *view.strides, *(each for each in view.extents if each is not None))
        return all(is_materialisable(self._addresses, each, self._op) for each in known)

    def _is_of_program(self, atom: Atom) -> bool:
        """Whether a symbol is a value that does not change while a view is used."""
        kind = kind_of(atom)
        if kind in ("arg", "np", "pid"):
            return True
        if kind == "it":
            return any(
                counter is atom and is_around(loop, self._access.base)
                for loop, counter in self._addresses.counters.items()
            )
        value = self._addresses.value_of(atom)
        return value is not None and is_available(value, self._op)

    def _is_host_atom(self, atom: Atom) -> bool:
        if self._is_local and (atom.is_symbol or atom.is_opaque):
            return self._is_of_program(atom)
        if atom.is_symbol:
            return kind_of(atom) in ("arg", "np")
        if atom.is_opaque:
            return False
        return all(self._is_host(arg) for arg in atom.args) and atom.formula is None

    def _is_host(self, poly: Poly) -> bool:
        return all(self._is_host_atom(atom) for atom in poly.atoms())

    def _host_term(self, poly: Poly, monomial: tuple[int, ...]) -> bool:
        return all(self._is_host_atom(poly.space.atoms[id]) for id in monomial)


def _feeds_gemms(op: Operation) -> bool:
    return len(op.results) == 1 and feeds_gemms_only(op.results[0])


def _is_difference(poly: Poly) -> bool:
    return any(coefficient < 0 for coefficient in with_remainders(poly).terms.values())


def _contains_difference(poly: Poly) -> bool:
    """Whether a value may be negative because something in it is a difference: of a quotient, what
    is divided."""
    return _is_difference(poly) or any(map(_is_of_difference, with_remainders(poly).atoms()))


def _is_of_difference(atom: Atom) -> bool:
    if atom.kind in _OF_FIRST:
        return _contains_difference(atom.args[0])
    if atom.kind is SymbolKind.MIN:
        return any(map(_contains_difference, atom.args))
    return atom.kind is SymbolKind.MAX and all(map(_contains_difference, atom.args))


def _ordered(dimensions: Sequence[_Dimension]) -> list[_Dimension]:
    """The dimension of stride 1 last, the others as they are."""
    ones = [each for each in dimensions if each.stride == 1]
    if len(ones) != 1:
        return list(dimensions)
    return [each for each in dimensions if each is not ones[0]] + ones
