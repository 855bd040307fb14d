"""P3: z3 for non-linear formulas, under a limit of work.

z3 is optional (extra ``solver``): without it the procedure decides nothing. A model is a witness
only if nothing in the question is opaque; *unsatisfiable* is a proof in any case, because opaque
values and predicates are left free.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from importlib import import_module
from time import monotonic
from typing import Any

from tilewright.analysis.affine import Atom, Formula, Poly, Space, SymbolKind
from tilewright.analysis.affine.formula import FormulaKind
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.checks.findings import Method
from tilewright.analysis.pid_address.checks.questions import (
    QueryResult,
    Question,
    found,
    open_reason,
)
from tilewright.analysis.pid_address.checks.settings import Effort

# Any: z3 has no types of its own, and may not be installed.
Solver = Any
Term = Any

_MIN_SECONDS = 0.001


def decide(question: Question, effort: Effort) -> QueryResult:
    """Whether z3 finds the formula unsatisfiable, or a solution, in time."""
    try:
        z3: Solver = import_module("z3")
    except ImportError:
        return QueryResult(None, Method.SMT)
    encoder = _Encoder(z3, question.space)
    try:
        goal = encoder.formula(question.formula)
    except _NotExpressible as error:
        return QueryResult(None, Method.SMT, reason=f"no integer arithmetic: {error}")
    solver = z3.Solver(ctx=encoder.context)
    solver.add(goal, *encoder.constraints)
    outcome = _check(z3, solver, effort)
    if outcome == z3.unsat:
        return QueryResult(False, Method.SMT)
    if outcome != z3.sat:
        return QueryResult(None, Method.SMT, reason="z3 reached its limit of steps")
    if not question.closed:
        return QueryResult(None, Method.SMT, reason=open_reason(question))
    # A launch that divides by zero shows nothing; of others the formula allows for all.
    solver.add(*(divisor != 0 for divisor in encoder.divisors))
    if encoder.divisors and _check(z3, solver, effort) != z3.sat:
        return QueryResult(None, Method.SMT, reason="no counterexample without a division by zero")
    model = solver.model()
    # Arguments of real launches are not negative: such a witness is easier to believe.
    free = [atom for atom in question.symbols() if kind_of(atom) == "arg"]
    solver.add(*(encoder.symbol(atom) >= 0 for atom in free))
    if free and _check(z3, solver, effort) == z3.sat:
        model = solver.model()
    values = {
        atom.name: model.eval(encoder.symbol(atom), model_completion=True).as_long() * atom.divisor
        for atom in question.symbols()
    }
    return found(question, Method.SMT, values)


def _check(z3: Solver, solver: Solver, effort: Effort) -> Term:
    """The solver's outcome within the share of steps, and of time, that is left."""
    steps, seconds = effort.share()
    if steps < 1 or (seconds is not None and seconds < _MIN_SECONDS):
        return z3.unknown
    solver.set("rlimit", steps)
    if seconds is not None:
        solver.set("timeout", int(seconds / _MIN_SECONDS))
    started, before = monotonic(), _steps(solver)
    outcome = solver.check()
    effort.spend(_steps(solver) - before, monotonic() - started)
    return outcome


def _steps(solver: Solver) -> int:
    """What z3 has done so far, in its own units."""
    return next((value for key, value in solver.statistics() if key == "rlimit count"), 0)


class _NotExpressible(Exception):
    """An operation that integers of z3 do not have."""


class _Encoder:
    """Terms of z3 for polynomials; every derived atom gets a variable and its definition."""

    def __init__(self, z3: Solver, space: Space) -> None:
        self.z3 = z3
        # What z3 remembers of earlier questions changes how many steps the next one takes.
        self.context = z3.Context()
        self.space = space
        self.constraints: list[Term] = []
        self.divisors: list[Term] = []
        """What is divided by, unless it is a number."""
        self._atoms: dict[int, Term] = {}
        self._predicates: dict[int, Term] = {}

    def symbol(self, atom: Atom) -> Term:
        """The variable of an atom (of a symbol with a divisor: the symbol over it)."""
        if atom.id not in self._atoms:
            variable = self.z3.Int(f"a{atom.id}", self.context)
            self._atoms[atom.id] = variable
            if atom.range.lo is not None:
                self.constraints.append(variable >= atom.range.lo)
            if atom.range.hi is not None:
                self.constraints.append(variable <= atom.range.hi)
        return self._atoms[atom.id]

    def poly(self, poly: Poly) -> Term:
        total: Term = self._integer(0)
        for monomial, coefficient in poly.terms.items():
            factors = [self.atom(self.space.atoms[id]) for id in monomial]
            total = total + reduce(lambda x, y: x * y, factors, self._integer(coefficient))
        return total

    def _integer(self, value: int) -> Term:
        return self.z3.IntVal(value, self.context)

    def atom(self, atom: Atom) -> Term:
        if atom.id in self._atoms or atom.is_symbol or atom.is_opaque:
            return self.symbol(atom)
        if atom.formula is not None:
            value = self.z3.If(self.formula(atom.formula), 1, 0)
        elif atom.kind in _DEFINITIONS:
            value = _DEFINITIONS[atom.kind](self, [self.poly(arg) for arg in atom.args])
        else:
            raise _NotExpressible(str(self.space.of_atom(atom)))
        self._atoms[atom.id] = value
        return value

    def formula(self, formula: Formula) -> Term:
        if formula.kind is FormulaKind.CMP:
            assert formula.poly is not None
            value = self.poly(formula.poly)
            return {"<": value < 0, "=": value == 0, "!=": value != 0}[formula.rel]
        if formula.kind is FormulaKind.PREDICATE:
            return self._predicate(formula)
        if formula.parts:
            join = self.z3.And if formula.kind is FormulaKind.AND else self.z3.Or
            return join(*(self.formula(part) for part in formula.parts))
        return self.z3.BoolVal(formula.truth is True, self.context)

    def _predicate(self, formula: Formula) -> Term:
        positive = ~formula if formula.negated else formula
        known = self._predicates.setdefault(
            positive.id, self.z3.Bool(f"p{positive.id}", self.context)
        )
        return self.z3.Not(known) if formula.negated else known

    def floor_div(self, value: Term, divisor: Term) -> Term:
        """A fresh quotient: z3's own rounds differently for negative divisors."""
        z3, quotient = self.z3, self.z3.FreshInt("q", self.context)
        if not z3.is_int_value(z3.simplify(divisor)):
            self.divisors.append(divisor)
        rest = value - divisor * quotient
        inside = z3.If(
            divisor > 0, z3.And(rest >= 0, rest < divisor), z3.And(rest <= 0, rest > divisor)
        )
        self.constraints.append(z3.If(divisor == 0, quotient == 0, inside))
        return quotient

    def trunc_div(self, value: Term, divisor: Term) -> Term:
        z3 = self.z3
        size = self.floor_div(
            z3.If(value < 0, -value, value), z3.If(divisor < 0, -divisor, divisor)
        )
        return z3.If((value < 0) == (divisor < 0), size, -size)

    def minimum(self, values: list[Term]) -> Term:
        return reduce(lambda x, y: self.z3.If(x <= y, x, y), values)

    def greatest(self, values: list[Term]) -> Term:
        return reduce(lambda x, y: self.z3.If(x >= y, x, y), values)


_DEFINITIONS: dict[SymbolKind, Callable[[_Encoder, list[Term]], Term]] = {
    SymbolKind.FDIV: lambda encoder, args: encoder.floor_div(*args),
    SymbolKind.TDIV: lambda encoder, args: encoder.trunc_div(*args),
    SymbolKind.MIN: lambda encoder, args: encoder.minimum(args),
    SymbolKind.MAX: lambda encoder, args: encoder.greatest(args),
}
