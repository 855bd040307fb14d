"""Addresses of a prepared kernel: the polynomials of ``pid_address``, and where their symbols live.

A polynomial is useful for code only if each of its symbols is a value of the program. They
are: an argument, a program id, the counter of a loop, a scalar that the address analysis
does not look into, or a coordinate (``%pid_m``), a scalar computed from program ids in an involved
way. ``over_coordinates`` rewrites a polynomial so that such scalars appear in it as themselves:

    64*fdiv(pid0, 8) + 64*mod(...)   ->   64*%pid_m
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.analysis.affine import Atom, Formula, FormulaKind, Poly, SymbolKind
from tilewright.analysis.pid_address.analysis import evaluate
from tilewright.analysis.pid_address.atoms import Role, kind_of
from tilewright.analysis.pid_address.control.recurrences import SUM_OF_STEPS
from tilewright.analysis.pid_address.entry_state import start
from tilewright.analysis.pid_address.report import AccessProperties
from tilewright.analysis.pid_address.scope import Machine, Site
from tilewright.analysis.pid_address.values import Integer
from tilewright.analysis.raising.relevance import irrelevant_ops
from tilewright.dialects.scf import ForOp, WhileOp
from tilewright.dialects.tt import FuncOp
from tilewright.dialects.type_utils import is_tensor
from tilewright.ir.text.names import ValueNames

_MAX_TERMS = 24
"""Longer polynomials are not searched for coordinates."""


@dataclass
class Addresses:
    """What is known about the addresses of a kernel."""

    machine: Machine
    function: FuncOp
    sites: Mapping[Operation, Site]
    arguments: Mapping[str, BlockArgument]
    """By name in polynomials and as a base."""
    values: Mapping[str, SSAValue]
    """Opaque values and coordinates, by the key of their symbol."""
    counters: Mapping[Operation, Atom]
    """The counter of each loop; loops that are not nested may share a symbol."""

    def __post_init__(self) -> None:
        self.counting = frozenset(self.counters.values())
        """Counters that code has; loops with a condition count where an address needs it."""

    def value_of(self, atom: Atom) -> SSAValue | None:
        """The SSA value that a symbol stands for, if it is one scalar."""
        role = atom.role
        if not isinstance(role, Role):
            return None
        if role.kind == "arg":
            return self.arguments.get(str(role.key))
        if role.kind in ("opaque", "coordinate"):
            found = self.values.get(str(role.key))
            return None if found is None or is_tensor(found.type) or _has_lanes(atom) else found
        return None

    def over_coordinates(self, poly: Poly, at: Operation) -> Poly:
        """The same value with coordinates in place of what they compute, where that is shorter.

        Only scalars that are computed before the op `at`, in a block around it, are used.
        """
        if len(poly.terms) > _MAX_TERMS or not _is_involved(poly):
            return poly
        coordinates = self.machine.atoms.coordinates
        for atom in sorted(coordinates, key=lambda each: -each.id):
            value = self.value_of(atom)
            if value is None or not is_available(value, at):
                continue
            poly = _divided(poly, coordinates[atom], self.machine.space.of_atom(atom))
            if not _is_involved(poly):
                break
        return poly


def _has_lanes(atom: Atom) -> bool:
    return any(kind_of(inner) == "lane" for arg in atom.args for inner in arg.atoms_within())


def is_available(value: SSAValue, at: Operation) -> bool:
    """Whether `value` is computed before `at`, in a block around it."""
    owner = value.owner
    block = owner if isinstance(owner, Block) else owner.parent
    user: Operation | None = at
    while user is not None and user.parent is not block:
        user = user.parent_op()
    if user is None:
        return False
    return isinstance(owner, Block) or owner.is_before_in_block(user)


def is_around(loop: Operation, value: SSAValue) -> bool:
    """Whether a value is computed inside a loop."""
    owner = value.owner
    at = owner if isinstance(owner, Operation) else owner.parent_op()
    while at is not None and at is not loop:
        at = at.parent_op()
    return at is loop


def _is_involved(poly: Poly) -> bool:
    """Whether it has quotients, choices or other derived symbols."""
    return any(not atom.is_symbol and not atom.is_opaque for atom in poly.atoms())


def _size(poly: Poly) -> tuple[int, int]:
    derived = [monomial for monomial in poly.terms if _derived(poly, monomial)]
    return len(derived), len(poly.terms)


def _derived(poly: Poly, monomial: tuple[int, ...]) -> bool:
    atoms = poly.space.atoms
    return any(not atoms[id].is_symbol and not atoms[id].is_opaque for id in monomial)


def _divided(poly: Poly, value: Poly, symbol: Poly) -> Poly:
    """`poly` with multiples of `value` written as multiples of `symbol`."""
    leads = [monomial for monomial in value.terms if _derived(value, monomial)]
    if not leads:
        return poly
    lead = max(leads, key=lambda monomial: (len(monomial), monomial))
    factor = value.terms[lead]
    for monomial, coefficient in sorted(poly.terms.items()):
        rest = _quotient(monomial, lead)
        if rest is None or coefficient % factor:
            continue
        step = Poly(poly.space, {rest: coefficient // factor})
        other = poly - step * value + step * symbol
        if _size(other) < _size(poly):
            poly = other
    return poly


def _quotient(monomial: tuple[int, ...], divisor: tuple[int, ...]) -> tuple[int, ...] | None:
    rest = list(monomial)
    for id in divisor:
        if id not in rest:
            return None
        rest.remove(id)
    return tuple(rest)


def addresses_of(function: FuncOp) -> Addresses:
    """Evaluate the integer code of a prepared kernel."""
    top = function.parent_op() or function
    names = ValueNames(top, names_from_locations=False, use_hints=True)
    facts = AccessProperties()
    begin = start(function, names, facts)
    irrelevant = irrelevant_ops(function)
    machine = evaluate(function, top, names, begin, facts, irrelevant=irrelevant)
    written = {site.base.name for site in machine.sites.values() if site.kind.value != "load"}
    read = {site.base.name for site in machine.sites.values() if site.kind.value == "load"}
    is_anywhere = any(not name.startswith("%") for name in written)
    if is_anywhere or written & read:
        begin = start(function, names, facts)
        changing = frozenset(read if is_anywhere else written & read)
        machine = evaluate(function, top, names, begin, facts, changing, irrelevant=irrelevant)
    sites = {operation: site for (operation, _, _), site in machine.sites.items()}
    arguments = {names.of(argument): argument for argument in function.body.block.args}
    arguments |= {f"%{name}": argument for name, argument in arguments.items()}
    values = machine.named_values()
    return Addresses(
        machine,
        function,
        sites,
        arguments,
        values | _carried_by_steps(machine, values),
        _counters(sites, function),
    )


def _carried_by_steps(machine: Machine, values: Mapping[str, SSAValue]) -> dict[str, SSAValue]:
    """Integers that loops carry from 0 on, by the key of what has been added to them."""
    found: dict[str, SSAValue] = {}
    for name, value in values.items():
        known = machine.environments[()].get(value)
        if not isinstance(value, BlockArgument) or not isinstance(known, Integer):
            continue
        (atom, *others) = known.expr.atoms() or [None]
        if atom is None or others or not isinstance(atom.role, Role):
            continue
        key = f"{name}{SUM_OF_STEPS}"
        if atom.role.key == key and known.expr == known.expr.space.of_atom(atom) * atom.divisor:
            found[key] = value
    return found


def _counters(sites: Mapping[Operation, Site], function: FuncOp) -> dict[Operation, Atom]:
    found: dict[Operation, Atom] = {}
    for op, site in sites.items():
        around: list[Operation] = []
        parent = op.parent_op()
        while parent is not None and parent is not function:
            if isinstance(parent, ForOp | WhileOp):
                around.append(parent)
            parent = parent.parent_op()
        counters = [loop.counter for loop in site.scope.loops]
        found.update(zip(reversed(around), counters, strict=True))
    return found


def integer_of(addresses: Addresses, value: SSAValue) -> Poly | None:
    """The polynomial of a scalar or tensor of integers."""
    known = addresses.machine.environments[()].get(value)
    return known.expr if isinstance(known, Integer) else None


def is_materialisable(
    addresses: Addresses, poly: Poly, at: Operation, lanes: frozenset[int] = frozenset()
) -> bool:
    """Whether code at an op can compute a polynomial from scalars of the program and indices of
    `lanes`: what only a branch before it computes is not there any more."""
    return all(_is_known(addresses, atom, at, lanes) for atom in atoms_read(poly))


def atoms_read(value: Poly | Formula) -> list[Atom]:
    """The atoms that code for a value needs: of a value of the program, not what it depends on."""
    found: dict[Atom, None] = {}
    work: list[Poly | Formula] = [value]
    while work:
        item = work.pop()
        if isinstance(item, Formula):
            work += [*item.parts, *item.polys]
            continue
        for atom in item.atoms():
            if atom in found:
                continue
            found[atom] = None
            if not atom.is_symbol and not atom.is_opaque:
                work += atom.args if atom.formula is None else (*atom.args, atom.formula)
    return list(found)


def is_computable(
    addresses: Addresses, formula: Formula, at: Operation, lanes: frozenset[int] = frozenset()
) -> bool:
    """Whether code at an op can compute a condition."""
    if formula.kind is FormulaKind.PREDICATE:
        found = addresses.values.get(formula.name)
        if found is None or is_tensor(found.type) or not is_available(found, at):
            return False
    return all(is_materialisable(addresses, poly, at, lanes) for poly in formula.polys) and all(
        is_computable(addresses, part, at, lanes) for part in formula.parts
    )


def _is_known(addresses: Addresses, atom: Atom, at: Operation, lanes: frozenset[int]) -> bool:
    if not atom.is_symbol and not atom.is_opaque:
        return atom.kind not in (SymbolKind.TABLE,)
    kind = kind_of(atom)
    if kind in ("pid", "np"):
        return True
    if kind == "lane":
        assert isinstance(atom.role, Role)
        return atom.role.key in lanes
    if kind == "it":
        return atom in addresses.counting
    value = addresses.value_of(atom)
    return value is not None and is_available(value, at)
