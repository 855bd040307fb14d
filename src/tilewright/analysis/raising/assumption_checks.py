"""Whether a launch violates an assumption of its raised kernel, in a few microseconds.

An assumption bounds an integer of the kernel (`assumptions`). It is evaluated for the last program
of the grid, the last iteration of each loop, if it has one, and the first lane, with the arguments
of the launch: a value that leaves its bounds there is a witness, and the kernel as written wraps.
Other programs are not tried, and an assumption about what is read from memory cannot be evaluated:
nothing is reported then.

The polynomials of all assumptions become one Python function, one line for each atom.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property

from tilewright.analysis.affine import Atom, Poly, SymbolKind
from tilewright.analysis.affine.arithmetic import OPERATIONS
from tilewright.analysis.pid_address.atoms import Role
from tilewright.analysis.raising.assumptions import Assumption
from tilewright.analysis.raising.plan import RaisePlan

_Violation = tuple[int, int] | None
_Function = Callable[[Sequence[int], Sequence[int]], _Violation]


class AssumptionChecks:
    """The assumptions of a kernel as a function of its arguments and its grid."""

    def __init__(
        self, plan: RaisePlan, assumptions: Sequence[Assumption], parameters: Sequence[str]
    ) -> None:
        self._assumptions = assumptions
        self._positions = {name: index for index, name in enumerate(parameters)}
        self._trips = {
            loop.counter.id: loop.trips
            for site in plan.addresses.sites.values()
            for loop in site.scope.loops
        }

    def violated(self, values: Sequence[int], grid: Sequence[int]) -> tuple[Assumption, int] | None:
        """An assumption that a launch violates, and the value; `values` are those of parameters,
        any value for arrays."""
        if 0 in grid:
            return None
        found = self._function(values, grid)
        return None if found is None else (self._assumptions[found[0]], found[1])

    @cached_property
    def read(self) -> frozenset[int]:
        """The positions of the parameters that are looked at."""
        return frozenset(int(each) for each in re.findall(r"\bv\[(\d+)\]", self.source))

    @cached_property
    def source(self) -> str:
        """The function; parameters of the kernel are ``v``, sizes of the grid ``g``."""
        known: set[int] = set()
        lines = ["def check(v, g):"]
        for index, assumption in enumerate(self._assumptions):
            atoms = self._atoms(assumption.value)
            if not all(self._line(each) for each in atoms):
                continue
            lines += [f"    {self._line(each)}" for each in atoms if each.id not in known]
            known.update(each.id for each in atoms)
            runs = "".join(f"a{each.id} >= 0 and " for each in atoms if each.id in self._trips)
            high = "" if assumption.high is None else f" <= {assumption.high}"
            lines.append(f"    x = {_sum(assumption.value)}")
            lines.append(f"    if {runs}not {assumption.low} <= x{high}: return {index}, x")
        return "\n".join((*lines, "    return None", ""))

    @cached_property
    def _function(self) -> _Function:
        scope: dict[str, _Function] = {}
        names = {f"f_{kind.name}": operation for kind, operation in OPERATIONS.items()}
        exec(self.source, dict(names), scope)
        return scope["check"]

    def _atoms(self, value: Poly) -> list[Atom]:
        """All atoms that a value depends on, each after those that its own value depends on."""
        found: dict[int, Atom] = {}

        # A trip count may be known by atoms that are younger than the counter of its loop.
        def visit(poly: Poly) -> None:
            for atom in sorted(value.space.atoms_within((poly,)), key=lambda each: each.id):
                if atom.id in found:
                    continue
                for argument in atom.args if atom.kind in OPERATIONS else ():
                    visit(argument)
                trips = self._trips.get(atom.id)
                if trips is not None:
                    visit(trips)
                found[atom.id] = atom

        visit(value)
        return list(found.values())

    def _line(self, atom: Atom) -> str | None:
        """The assignment of an atom; None if the launch does not decide about it."""
        value = self._value(atom)
        return None if value is None else f"a{atom.id} = {value}"

    def _value(self, atom: Atom) -> str | None:
        if atom.kind in OPERATIONS:
            return f"f_{atom.kind.name}({', '.join(map(_sum, atom.args))})"
        role = atom.role
        if atom.kind is not SymbolKind.SYMBOL or not isinstance(role, Role):
            return None
        divisor = "" if atom.divisor == 1 else f" // {atom.divisor}"
        match role.kind:
            case "arg" if role.key in self._positions:
                return f"v[{self._positions[str(role.key)]}]{divisor}"
            case "pid":
                return f"(g[{role.key}] - 1){divisor}"
            case "np":
                return f"g[{role.key}]{divisor}"
            case "lane":
                return "0"
            case "it":
                trips = self._trips.get(atom.id)
                return None if trips is None else f"({_sum(trips)} - 1){divisor}"
            case _:
                return None


def _sum(poly: Poly) -> str:
    return " + ".join(_terms(poly.terms)) or "0"


def _terms(terms: Mapping[tuple[int, ...], int]) -> Iterator[str]:
    for monomial, coefficient in terms.items():
        yield "*".join((str(coefficient), *(f"a{id}" for id in monomial)))
