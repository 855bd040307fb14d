"""The symbols of an access with their bounds, and those that occur in the bounds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tilewright.analysis.affine import Atom, Formula, Poly, Space
from tilewright.analysis.pid_address.atoms import Atoms, Role, kind_of
from tilewright.analysis.pid_address.report import Bound, Domain, Loop

_ORDER = {"arg": 0, "addr": 1, "np": 2, "pid": 3, "it": 4, "lane": 5, "opaque": 6}


def domain_of(
    atoms: Atoms, roots: Iterable[Poly | Formula | None], loops: Iterable[Loop]
) -> Domain:
    """Bounds of every symbol and opaque value in `roots`, directly or by way of a bound."""
    space = atoms.space
    trips = {loop.counter: loop.trips for loop in loops}
    bounds: dict[Atom, Bound] = {}
    work: list[Poly | Formula] = [root for root in roots if root is not None]
    while work:
        fresh = [
            atom
            for atom in space.atoms_within(work)
            if (atom.is_symbol or atom.is_opaque) and atom not in bounds
        ]
        work = []
        for atom in fresh:
            bound = bounds[atom] = _bound(atoms, space, atom, trips)
            work += [limit for limit in (bound.lower, bound.upper) if limit is not None]
    positions = {loop.counter: at for at, loop in enumerate(loops)}
    ordered = sorted(bounds, key=lambda atom: (_rank(atom), positions.get(atom, 0), atom.id))
    return Domain(tuple(bounds[atom] for atom in ordered))


def _rank(atom: Atom) -> int:
    return _ORDER.get(kind_of(atom), len(_ORDER))


def _bound(atoms: Atoms, space: Space, atom: Atom, trips: Mapping[Atom, Poly | None]) -> Bound:
    lower = None if atom.range.lo is None else space.const(atom.range.lo)
    upper = None if atom.range.hi is None else space.const(atom.range.hi)
    role = atom.role
    if not isinstance(role, Role):
        return Bound(atom, lower, upper)
    if role.kind == "pid" and isinstance(role.key, int):
        upper = atoms.programs[role.key] - 1
    elif role.kind == "it":
        count = trips.get(atom)
        upper = None if count is None else count - 1
    return Bound(atom, lower, upper)
