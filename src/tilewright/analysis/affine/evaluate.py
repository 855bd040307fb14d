"""The value of a polynomial or formula for given values of its symbols, in big integers.

Atoms are evaluated in the order of their ids, so nesting costs no recursion. A valuation gives an
integer for the name of every symbol that occurs, for the name of every call an integer or a
function of its operands, and for the name of every predicate the same with truth values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tilewright.analysis.affine.arithmetic import OPERATIONS
from tilewright.analysis.affine.formula import Formula, FormulaKind
from tilewright.analysis.affine.poly import Poly
from tilewright.analysis.affine.symbols import Atom, SymbolKind

Valuation = Mapping[str, int | Callable[..., int]]


def evaluate(poly: Poly, values: Valuation) -> int:
    """The integer value of a polynomial."""
    return Evaluator(values).value(poly)


def holds(formula: Formula, values: Valuation) -> bool:
    """The truth of a formula."""
    return Evaluator(values).truth(formula)


class Evaluator:
    """Values of atoms under one valuation, cached between evaluations."""

    def __init__(self, values: Valuation) -> None:
        self.values = values
        self._atoms: dict[int, int] = {}

    def value(self, poly: Poly) -> int:
        self._prepare(poly)
        return self._sum(poly)

    def truth(self, formula: Formula) -> bool:
        self._prepare(formula)
        return self._holds(formula)

    def _prepare(self, root: Poly | Formula) -> None:
        for atom in root.space.atoms_within((root,)):
            if atom.id not in self._atoms:
                self._atoms[atom.id] = self._atom(atom)

    def _sum(self, poly: Poly) -> int:
        total, atoms = 0, self._atoms
        for monomial, coefficient in poly.terms.items():
            for id in monomial:
                coefficient *= atoms[id]
            total += coefficient
        return total

    def _atom(self, atom: Atom) -> int:
        args = [self._sum(arg) for arg in atom.args]
        kind = atom.kind
        if kind is SymbolKind.SYMBOL or kind is SymbolKind.CALL:
            return self._given(atom, args)
        if kind is SymbolKind.INDICATOR:
            assert atom.formula is not None
            return int(self._holds(atom.formula))
        if kind is SymbolKind.SELECT:
            assert atom.formula is not None
            return args[0] if self._holds(atom.formula) else args[1]
        if kind is SymbolKind.TABLE:
            return atom.values[args[0]] if 0 <= args[0] < len(atom.values) else 0
        return OPERATIONS[kind](*args)

    def _given(self, atom: Atom, args: list[int]) -> int:
        value = self._lookup(atom.name, args)
        if value % atom.divisor:
            raise ValueError(f"{atom.name} = {value} is not a multiple of {atom.divisor}")
        return value // atom.divisor

    def _lookup(self, name: str, args: list[int]) -> int:
        if name not in self.values:
            raise KeyError(f"no value given for {name}")
        given = self.values[name]
        return given if isinstance(given, int) else int(given(*args))

    def _holds(self, formula: Formula) -> bool:
        kind = formula.kind
        if kind is FormulaKind.CMP:
            assert formula.poly is not None
            return _RELATIONS[formula.rel](self._sum(formula.poly))
        if kind is FormulaKind.PREDICATE:
            args = [self._sum(arg) for arg in formula.args]
            return bool(self._lookup(formula.name, args)) != formula.negated
        if kind is FormulaKind.AND:
            return all(map(self._holds, formula.parts))
        if kind is FormulaKind.OR:
            return any(map(self._holds, formula.parts))
        return formula.truth is True


_RELATIONS: dict[str, Callable[[int], bool]] = {
    "<": lambda value: value < 0,
    "=": lambda value: value == 0,
    "!=": lambda value: value != 0,
}
