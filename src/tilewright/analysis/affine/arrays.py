"""Values of polynomials and formulas over NumPy arrays of symbol values, still exact.

Arrays broadcast against each other, so programs, iterations and lanes go on axes of their own.
Machine integers are used as long as the largest value so far shows that nothing can overflow;
a sum that could leave 63 bits is computed with Python integers instead (dtype object).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tilewright.analysis.affine.formula import Formula, FormulaKind
from tilewright.analysis.affine.poly import Poly
from tilewright.analysis.affine.symbols import Atom, SymbolKind

# Any: elements are int64 or, with dtype object, Python integers; NumPy's types do not mix the two.
IntArray = NDArray[Any]
BoolArray = NDArray[np.bool_]
ArrayValuation = Mapping[str, "int | IntArray | Callable[..., IntArray]"]

_SAFE = 1 << 62


def evaluate_array(poly: Poly, values: ArrayValuation) -> IntArray:
    """The value of a polynomial for arrays of symbol values."""
    return ArrayEvaluator(values).value(poly)


def holds_array(formula: Formula, values: ArrayValuation) -> BoolArray:
    return ArrayEvaluator(values).truth(formula)


def exact_array(value: int | IntArray) -> IntArray:
    """An int64 array if the values fit with a margin, else one of Python integers."""
    array = _array(value)
    if array.dtype == object and _magnitude(array) < _SAFE:
        return array.astype(np.int64)
    if array.dtype == object:
        return array
    if array.dtype == np.uint64 and array.size and int(array.max()) >= _SAFE:
        return array.astype(object)
    return array.astype(np.int64, copy=False)


def _array(value: object) -> IntArray:
    """The value as an array: NumPy converts arrays without axes to scalars, and guesses a float
    type for Python integers of 64 bits."""
    if isinstance(value, np.ndarray | np.generic):
        return np.asarray(value)
    return np.asarray(value, dtype=object)


def _magnitude(array: IntArray) -> int:
    if not array.size:
        return 0
    return max(abs(int(array.min())), abs(int(array.max())))


class ArrayEvaluator:
    """Values of atoms under one valuation, cached between evaluations."""

    def __init__(self, values: ArrayValuation) -> None:
        self.values = values
        self._atoms: dict[int, IntArray] = {}
        self._magnitudes: dict[int, int] = {}

    def value(self, poly: Poly) -> IntArray:
        self._prepare(poly)
        return self._sum(poly)

    def truth(self, formula: Formula) -> BoolArray:
        self._prepare(formula)
        return self._holds(formula)

    def _prepare(self, root: Poly | Formula) -> None:
        for atom in root.space.atoms_within((root,)):
            if atom.id not in self._atoms:
                value = exact_array(self._atom(atom))
                self._atoms[atom.id] = value
                self._magnitudes[atom.id] = _magnitude(value)

    def _sum(self, poly: Poly) -> IntArray:
        limit = 0
        for monomial, coefficient in poly.terms.items():
            size = abs(coefficient)
            for id in monomial:
                size *= max(self._magnitudes[id], 1)
            limit += size
        wide = limit >= _SAFE
        total: IntArray = np.asarray(0, dtype=object if wide else np.int64)
        for monomial, coefficient in poly.terms.items():
            term: IntArray = np.asarray(coefficient, dtype=object if wide else np.int64)
            for id in monomial:
                factor = self._atoms[id]
                term = _array(term * (factor.astype(object) if wide else factor))
            total = _array(total + term)
        return total

    def _atom(self, atom: Atom) -> IntArray:
        args = [self._sum(arg) for arg in atom.args]
        kind = atom.kind
        if kind is SymbolKind.SYMBOL or kind is SymbolKind.CALL:
            return self._given(atom, args)
        if atom.formula is not None:
            truth = self._holds(atom.formula)
            yes, no = args or (np.asarray(1), np.asarray(0))
            return np.where(truth, yes, no)
        if kind is SymbolKind.TABLE:
            return _entry(np.asarray(atom.values, dtype=object), args[0])
        return _OPERATIONS[kind](*args)

    def _given(self, atom: Atom, args: list[IntArray]) -> IntArray:
        value = exact_array(self._lookup(atom.name, args))
        if atom.divisor == 1:
            return value
        if np.any(value % atom.divisor != 0):
            raise ValueError(f"{atom.name} has values that are no multiples of {atom.divisor}")
        return _array(value // atom.divisor)

    def _lookup(self, name: str, args: list[IntArray]) -> int | IntArray:
        if name not in self.values:
            raise KeyError(f"no value given for {name}")
        given = self.values[name]
        return given(*args) if callable(given) else given

    def _holds(self, formula: Formula) -> BoolArray:
        kind = formula.kind
        if kind is FormulaKind.CMP:
            assert formula.poly is not None
            return np.asarray(_RELATIONS[formula.rel](self._sum(formula.poly)), dtype=bool)
        if kind is FormulaKind.PREDICATE:
            args = [self._sum(arg) for arg in formula.args]
            given = np.asarray(self._lookup(formula.name, args)).astype(bool)
            return given != formula.negated
        if formula.parts:
            join = np.logical_and if kind is FormulaKind.AND else np.logical_or
            result = self._holds(formula.parts[0])
            for part in formula.parts[1:]:
                result = join(result, self._holds(part))
            return result
        return np.asarray(formula.truth is True)


_RELATIONS: dict[str, Callable[[IntArray], BoolArray]] = {
    "<": lambda value: value < 0,
    "=": lambda value: value == 0,
    "!=": lambda value: value != 0,
}


def _entry(table: IntArray, index: IntArray) -> IntArray:
    inside = (index >= 0) & (index < len(table))
    chosen = table[np.where(inside, index, 0).astype(np.int64)]
    return np.where(inside, chosen, 0)


def _floor_div(value: IntArray, divisor: IntArray) -> IntArray:
    return np.where(divisor == 0, 0, _array(value // np.where(divisor == 0, 1, divisor)))


def _trunc_div(value: IntArray, divisor: IntArray) -> IntArray:
    quotient = _floor_div(_array(abs(value)), _array(abs(divisor)))
    return np.where((value < 0) == (divisor < 0), quotient, _array(-quotient))


def _shift_left(value: IntArray, amount: IntArray) -> IntArray:
    amounts = np.where(amount < 0, 0, amount).astype(object)
    return np.where(amount < 0, 0, _array(value.astype(object) << amounts))


def _shift_right(value: IntArray, amount: IntArray) -> IntArray:
    amounts = np.where(amount < 0, 0, amount).astype(object)
    return np.where(amount < 0, 0, _array(value.astype(object) >> amounts))


def _minimum(*values: IntArray) -> IntArray:
    result = values[0]
    for value in values[1:]:
        result = np.minimum(result, value)
    return result


def _greatest(*values: IntArray) -> IntArray:
    result = values[0]
    for value in values[1:]:
        result = np.maximum(result, value)
    return result


def _floor_mod(value: IntArray, divisor: IntArray) -> IntArray:
    return _array(value - _array(divisor * _floor_div(value, divisor)))


def _trunc_rem(value: IntArray, divisor: IntArray) -> IntArray:
    return _array(value - _array(divisor * _trunc_div(value, divisor)))


def _itself(value: IntArray) -> IntArray:
    return value


_OPERATIONS: dict[SymbolKind, Callable[..., IntArray]] = {
    SymbolKind.WRAP: _itself,
    SymbolKind.FDIV: _floor_div,
    SymbolKind.TDIV: _trunc_div,
    SymbolKind.MOD: _floor_mod,
    SymbolKind.TREM: _trunc_rem,
    SymbolKind.MIN: _minimum,
    SymbolKind.MAX: _greatest,
    SymbolKind.AND: np.bitwise_and,
    SymbolKind.OR: np.bitwise_or,
    SymbolKind.XOR: np.bitwise_xor,
    SymbolKind.SHL: _shift_left,
    SymbolKind.SHR: _shift_right,
}
