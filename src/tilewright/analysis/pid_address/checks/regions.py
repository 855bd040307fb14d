"""The executions of an access, as one formula over its symbols, for one program or a second one.

The domain's bounds, the facts, the guard, the mask and "every enclosing loop gets this far" make
``AddressRegion.where``. ``AddressRegion.primed`` is the same access in another program: program
ids, counters and lanes get new symbols, arguments and grid are shared, and opaque values follow
their operands.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from math import gcd, prod

from xdsl.ir import Region as IRRegion

from tilewright.analysis.affine import (
    Atom,
    Context,
    Formula,
    Poly,
    Space,
    Substitution,
    conjunction,
    disjunction,
)
from tilewright.analysis.affine.formula import FormulaKind, compare
from tilewright.analysis.pid_address.atoms import Atoms, Role, kind_of
from tilewright.analysis.pid_address.checks.findings import Point
from tilewright.analysis.pid_address.report import Domain, Loop, MemoryOp
from tilewright.ir.traversal import ancestors

VARYING = ("pid", "it", "lane")
PRIME = "'"
_LOOPS = frozenset(("scf.for", "scf.while"))


@dataclass(frozen=True)
class Executions:
    """Points at which something happens in a launch, and a value there."""

    value: Poly
    where: Formula
    pids: tuple[Poly, ...]
    symbols: tuple[Atom, ...]
    """Program ids, counters and lanes that occur, in the order of execution."""
    loops: tuple[tuple[Atom, Poly | None], ...]
    """The counters of the loops around, with the number of iterations if it is known."""
    complete: bool
    size: int = 1
    """Bytes accessed at an address."""


@dataclass(frozen=True)
class AddressRegion:
    """The executions of an access."""

    access: MemoryOp
    offset: Poly
    where: Formula
    pids: tuple[Poly, ...]
    symbols: tuple[Atom, ...]
    """Program ids, counters and lanes that occur, in the order of execution."""
    complete: bool
    """False if some point of ``where`` may not be reached: a loop of unknown length."""
    mark: str = ""
    """What distinguishes the names of this program from the other's."""

    @property
    def space(self) -> Space:
        return self.offset.space

    def context(self) -> Context:
        return self.space.root.assume(self.where)

    def executions(self) -> Executions:
        loops = tuple((loop.counter, loop.trips) for loop in self.access.loops)
        return Executions(
            self.offset,
            self.where,
            self.pids,
            self.symbols,
            loops,
            self.complete,
            self.access.elem_bytes,
        )

    def priming(self) -> Substitution:
        """Puts the symbols of a second program for those of the first."""
        old = dict.fromkeys((*self.symbols, *_atoms(self.pids)))
        return Substitution(self.space.root, {atom: _other(self.space, atom) for atom in old})

    def primed(self, put: Substitution) -> AddressRegion:
        """The same access in a second program."""
        return AddressRegion(
            self.access,
            put.poly(self.offset),
            put.formula(self.where),
            tuple(map(put.poly, self.pids)),
            tuple(_atoms(_other(self.space, atom) for atom in self.symbols)),
            self.complete,
            PRIME,
        )

    def point(self, values: Mapping[str, int]) -> Point:
        """The execution that a valuation describes; symbols that do not matter are 0."""

        def of(name: str) -> int:
            return values.get(name + self.mark, 0)

        access = self.access
        return Point(
            access.index,
            (of("pid0"), of("pid1"), of("pid2")),
            tuple((loop.name, of(loop.counter.name)) for loop in access.loops),
            tuple(0 if lane is None else of(lane.name) for lane in access.lanes),
        )


def region_of(access: MemoryOp, grid: tuple[int | None, ...]) -> AddressRegion:
    space = access.offset.space
    pids = tuple(Atoms(space, grid).pids)
    parts = [*_domain_parts(space, access.domain), *access.facts, access.guard]
    parts += _loop_parts(space, access.loops)
    if access.mask is not None:
        parts.append(access.mask)
    where = conjunction(space, parts)
    roots: list[Poly | Formula] = [access.offset, where]
    if access.virtual is not None:
        roots += access.virtual.coordinates.values()
    symbols = [atom for atom in space.atoms_within(roots) if atom.is_symbol]
    order = _order(access)
    varying = sorted((a for a in symbols if kind_of(a) in VARYING), key=order.__getitem__)
    complete = _is_complete(access, space.root.assume(where))
    return AddressRegion(access, access.offset, where, pids, tuple(varying), complete)


def _is_complete(access: MemoryOp, context: Context) -> bool:
    """Whether every point where an access may execute is one where it does.

    A while loop gets to an iteration only through all those before. Its condition guards the body,
    and if it cannot become true again once it is false, holding is enough to be reached.
    """
    around = [op for op in ancestors(access.operation) if op.name in _LOOPS]
    for loop, op in zip_longest(reversed(access.loops), around):
        if loop is None:
            break
        if loop.trips is not None:
            continue
        in_body = op is not None and op.name == "scf.while" and _is_within(access, op.regions[1])
        if not in_body or not _holds_until(context, access.guard, loop.counter):
            return False
    return True


def _is_within(access: MemoryOp, region: IRRegion) -> bool:
    return region.is_ancestor(access.operation)


def _holds_until(context: Context, guard: Formula, counter: Atom) -> bool:
    """Whether what holds in an iteration has held in all iterations before."""
    for part in conjuncts(guard):
        if counter not in guard.space.atoms_within((part,)):
            continue
        rising = part.kind is FormulaKind.CMP and part.rel == "<" and part.poly is not None
        factor = part.poly.coefficient_of(counter) if rising and part.poly is not None else None
        if factor is None or not context.is_nonneg(factor):
            return False
    return True


def domain_of(region: AddressRegion, grid: tuple[int | None, ...]) -> Formula:
    """The region without its mask: what holds for all lanes of an execution."""
    access, space = region.access, region.space
    parts = [*_domain_parts(space, access.domain), *access.facts, access.guard]
    return conjunction(space, [*parts, *_loop_parts(space, access.loops)]) & program_bounds(
        space, grid
    )


def program_bounds(space: Space, grid: tuple[int | None, ...]) -> Formula:
    """``pid < np`` on every axis."""
    atoms = Atoms(space, grid)
    pairs = zip(atoms.pids, atoms.programs, strict=True)
    return conjunction(space, (space.root.compare("<", pid, count) for pid, count in pairs))


def is_opaque(space: Space, roots: Iterable[Poly | Formula]) -> bool:
    """Whether values or conditions occur that the kernel's text does not determine."""
    roots = list(roots)
    atoms = space.atoms_within(roots)
    if any(atom.is_opaque for atom in atoms):
        return True
    formulas = [root for root in roots if isinstance(root, Formula)]
    formulas += [atom.formula for atom in atoms if atom.formula is not None]
    return any(part.kind is FormulaKind.PREDICATE for part in _parts(formulas))


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if formula.kind is FormulaKind.AND else (formula,)


def varies(poly: Poly) -> bool:
    """Whether a value differs between programs, iterations or lanes, or is opaque."""
    return any(kind_of(a) in VARYING or a.is_opaque for a in poly.atoms_within())


def shown_content(poly: Poly) -> int:
    """The common factor as it is printed: of ``16*x`` for an x divisible by 16, that is 1."""
    atoms = poly.space.atoms
    return gcd(*(c // prod(atoms[i].divisor for i in m) for m, c in poly.terms.items()))


def _parts(formulas: Iterable[Formula]) -> Iterator[Formula]:
    work = list(formulas)
    while work:
        formula = work.pop()
        yield formula
        work.extend(formula.parts)


def bounds_of(space: Space, domain: Domain) -> Formula:
    """The bounds of all symbols of a domain."""
    return conjunction(space, _domain_parts(space, domain))


def _domain_parts(space: Space, domain: Domain) -> Iterator[Formula]:
    for bound in domain.bounds:
        if not bound.symbol.is_symbol:
            continue
        value = space.of_atom(bound.symbol)
        if bound.lower is not None:
            yield space.root.compare(">=", value, bound.lower)
        if bound.upper is not None:
            yield space.root.compare("<=", value, bound.upper)


def _loop_parts(space: Space, loops: Iterable[Loop]) -> Iterator[Formula]:
    for loop in loops:
        if loop.trips is not None:
            yield space.root.compare("<", space.of_atom(loop.counter), loop.trips)


def _order(access: MemoryOp) -> dict[Atom, tuple[int, int]]:
    space = access.offset.space
    positions: dict[Atom, tuple[int, int]] = {}
    for atom in space.atoms:
        role = atom.role
        if isinstance(role, Role) and role.kind in VARYING:
            positions[atom] = (
                VARYING.index(role.kind),
                role.key if isinstance(role.key, int) else 0,
            )
    for at, loop in enumerate(access.loops):
        positions[loop.counter] = (1, at)
    return positions


def _atoms(polys: Iterable[Poly]) -> Iterator[Atom]:
    for poly in polys:
        assert poly.atom is not None
        yield poly.atom


def _other(space: Space, atom: Atom) -> Poly:
    """The twin of a symbol in the second program."""
    return space.symbol(atom.name + PRIME, atom.range, role=atom.role)


def different_programs(left: AddressRegion, right: AddressRegion) -> Formula:
    """Program ids that differ on some axis."""
    return disjunction(
        left.space, (compare("!=", p, q) for p, q in zip(left.pids, right.pids, strict=True))
    )
