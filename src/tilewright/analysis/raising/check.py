"""Boxes against addresses, as polynomials: written without the planner.

For every access that a plan turns into a box of a view:

* ``origin + sum(stride * (start + lane))`` is the offset that the address analysis found;
* ``start + lane < extent`` for the masked dimensions, ``start + lane >= 0`` where the mask has
  it, and the guard are together the mask: every part of the mask is one of them, and each of
  them is a part of the mask.

Rows past the end that read others differ from the address on purpose; of them, offsets are compared
inside the extents: where the quotient of a remainder is zero, and a choice is that of rows inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from xdsl.ir import Operation

from tilewright.analysis.affine import Atom, Formula, Poly, SymbolKind, substitute
from tilewright.analysis.affine.formula import compare
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.scope import Site
from tilewright.analysis.raising.addresses import Addresses
from tilewright.analysis.raising.masks import conjuncts
from tilewright.analysis.raising.plan import Access, RaisePlan
from tilewright.analysis.raising.views import Box, View

_CHOICES = (SymbolKind.SELECT, SymbolKind.INDICATOR)
_QUOTIENTS = (SymbolKind.FDIV, SymbolKind.TDIV)


def check_boxes(plan: RaisePlan) -> list[str]:
    """What is wrong with the boxes of a plan; nothing, if they are right."""
    return [
        problem
        for op, access in plan.accesses.items()
        if access.box is not None
        for problem in _problems(plan, op, access, access.box)
    ]


def _problems(plan: RaisePlan, op: Operation, access: Access, box: Box) -> Iterator[str]:
    site = plan.addresses.sites[op]
    view = plan.views[box.view]
    if view.base is not access.base:
        yield f"'{op.name}' accesses another pointer than its view"
    indices = [_index(plan.addresses, site, box, dim) for dim in range(len(box.starts))]
    expected = _expected(plan.addresses, box, view, indices)
    difference = _offset(plan.addresses, view, indices) - _address(site, box, expected)
    if difference.terms:
        yield f"'{op.name}' is {difference} elements off: {box} of {view}"
    actual = set(conjuncts(site.mask))
    for part in actual - expected.keys():
        if not _holds(site, part, expected):
            yield f"'{op.name}' does not respect its mask {part}: {box} of {view}"
    for part, is_needed in expected.items():
        if is_needed and part not in actual and not box.wraps:
            yield f"'{op.name}' is masked by {part}, which is no part of its mask"


def _index(addresses: Addresses, site: Site, box: Box, dim: int) -> Poly:
    """The index of the view along a dimension, over the symbols of the address analysis."""
    start = _plain(addresses, box.starts[dim])
    lane = box.lanes[dim]
    if lane is None:
        return start
    return start + addresses.machine.atoms.lane(lane, site.shape[lane])


def _offset(addresses: Addresses, view: View, indices: list[Poly]) -> Poly:
    total = _plain(addresses, view.origin)
    for stride, index in zip(view.strides, indices, strict=True):
        total = total + _plain(addresses, stride) * index
    return total


def _plain(addresses: Addresses, poly: Poly) -> Poly:
    """A polynomial without coordinates, and with remainders as the ring writes them."""
    ctx = addresses.machine.space.root
    for _ in range(8):
        replaced: dict[Atom, Poly | int] = dict(addresses.machine.atoms.coordinates)
        for atom in poly.atoms_within():
            if atom.kind is SymbolKind.MOD:
                replaced[atom] = ctx.mod(*atom.args)
            elif atom.kind is SymbolKind.TREM:
                replaced[atom] = ctx.trem(*atom.args)
        plain = _substituted(addresses, poly, replaced)
        if plain == poly:
            return plain
        poly = plain
    return poly


def _substituted(addresses: Addresses, poly: Poly, replaced: dict[Atom, Poly | int]) -> Poly:
    """Replace atoms at the top by hand, and inside others by substitution."""
    space = addresses.machine.space
    total = space.zero
    for monomial, coefficient in poly.terms.items():
        term = space.one * coefficient
        for id in monomial:
            atom = space.atoms[id]
            term = term * (replaced[atom] if atom in replaced else space.of_atom(atom))
        total = total + term
    symbols = {atom: value for atom, value in replaced.items() if atom.is_symbol}
    return substitute(space.root, total, symbols)


def _address(site: Site, box: Box, inside: Iterable[Formula]) -> Poly:
    """The offset in elements; of rows that wrap around, that of the first time round."""
    offset = site.offset.expr.exact_quotient(site.elem_bytes)
    if not box.wraps:
        return offset
    conditions = set(inside)
    for atom in offset.atoms():
        if atom.kind in _CHOICES and atom.formula is not None:
            yes = atom.args[0] if atom.args else offset.space.one
            no = atom.args[1] if atom.args else offset.space.zero
            factor, rest, _ = offset.split(atom)
            if atom.formula in conditions:
                offset = rest + factor * yes
            elif ~atom.formula in conditions:
                offset = rest + factor * no
    remaining = {
        monomial: coefficient
        for monomial, coefficient in offset.terms.items()
        if not any(_is_wrap(offset.space.atoms[id]) for id in monomial)
    }
    return Poly(offset.space, remaining)


def _is_wrap(atom: Atom) -> bool:
    return atom.kind in _QUOTIENTS and any(
        kind_of(inner) == "lane" for arg in atom.args for inner in arg.atoms_within()
    )


def _expected(
    addresses: Addresses, box: Box, view: View, indices: list[Poly]
) -> dict[Formula, bool]:
    """Conditions that the box stands for, and whether the mask must have them."""
    found: dict[Formula, bool] = {}
    for index, extent, lane in zip(indices, view.extents, box.lanes, strict=True):
        found[compare(">=", index, 0)] = False
        if extent is not None:
            is_masked = box.is_masked and lane is not None and lane in box.masked
            found[compare("<", index, _plain(addresses, extent))] = is_masked
    for part in conjuncts(box.guard):
        found[part] = True
    return found


def _holds(site: Site, part: Formula, expected: dict[Formula, bool]) -> bool:
    """Whether a part of the mask holds anyway."""
    return site.scope.ctx.decide(part) is True
