"""Formulas and polynomials as constraint text of Presburger arithmetic.

Every atom that is not a symbol becomes an existential variable, tied to its operands by its
definition. Such a variable has exactly one value, so the formula around it may negate and choose
freely. What Presburger arithmetic lacks is split into cases where it is small: a product in which
all factors but one take few values, a division by such a divisor, a short table, bits under a
constant mask. Anything else raises NotPresburger with the value at fault.

Cases come from ranges in the context: points where its facts do not hold may be missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tilewright.analysis.affine.formula import Formula, FormulaKind
from tilewright.analysis.affine.poly import Monomial, Poly
from tilewright.analysis.affine.ranges import Interval
from tilewright.analysis.affine.symbols import Atom, SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context

MAX_CASES = 16
MAX_TABLE = 256
MAX_MASK_BITS = 16

_RESERVED = frozenset(
    {"max", "min", "and", "or", "not", "exists", "mod", "floor", "ceil", "floord", "ceild"}
    | {"true", "false", "rat", "infty", "nan", "implies"}
)


class NotPresburger(Exception):
    """The value has no finite description with linear constraints."""


class Encoder:
    """Collects variables and constraints for the values it encodes."""

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.exact = True
        """False once a variable stands for more values than the program can have."""
        self.variables: dict[str, str] = {}
        """Symbol, call or predicate name -> variable."""
        self.existentials: list[str] = []
        self.constraints: list[str] = []
        self._taken: set[str] = set()
        self._atoms: dict[int, str] = {}
        self._products: dict[Monomial, str] = {}
        self._predicates: dict[int, str] = {}

    # Names

    def variable(self, name: str) -> str:
        """The variable of a symbol: its name, if isl can read it."""
        if name not in self.variables:
            clean = re.sub(r"\W", "_", name, flags=re.ASCII)
            if not re.match(r"[A-Za-z]", clean) or clean.lower() in _RESERVED:
                clean = f"v{clean}"
            self.variables[name] = self.fresh(clean)
        return self.variables[name]

    def fresh(self, base: str) -> str:
        """A name that nothing else has."""
        name, suffix = base, 0
        while name in self._taken:
            suffix += 1
            name = f"{base}_{suffix}"
        self._taken.add(name)
        return name

    def existential(self) -> str:
        name = self.fresh(f"e{len(self.existentials)}")
        self.existentials.append(name)
        return name

    # Values

    def declare(self, atom: Atom) -> str:
        """The variable of a symbol, with what is declared about it; the symbol's own value, not
        that divided by the divisor."""
        name = self.variable(atom.name)
        if atom.id not in self._atoms:
            self._atoms[atom.id] = self._declared(atom, name)
        return name

    def _declared(self, atom: Atom, name: str) -> str:
        """The variable of the atom, which is the symbol over its divisor."""
        if atom.divisor == 1:
            self._bound(name, atom.range)
            return name
        quotient = self.existential()
        self.constraints.append(f"{name} = {atom.divisor}*{quotient}")
        self._bound(quotient, atom.range)
        return quotient

    def _bound(self, name: str, range: Interval) -> None:
        if range.lo is not None:
            self.constraints.append(f"{range.lo} <= {name}")
        if range.hi is not None:
            self.constraints.append(f"{name} <= {range.hi}")

    def linear(self, poly: Poly) -> str:
        """The polynomial as a linear expression of variables."""
        parts = [self._term(monomial, c) for monomial, c in poly.terms.items()]
        return " + ".join(parts) if parts else "0"

    def _term(self, monomial: Monomial, coefficient: int) -> str:
        if not monomial:
            return str(coefficient)
        if len(monomial) == 1:
            return f"{coefficient}*{self.atom(self.ctx.space.atoms[monomial[0]])}"
        return f"{coefficient}*{self._product(monomial)}"

    def atom(self, atom: Atom) -> str:
        known = self._atoms.get(atom.id)
        if known is None:
            if atom.kind is SymbolKind.SYMBOL or (atom.kind is SymbolKind.CALL and not atom.args):
                self.declare(atom)
                return self._atoms[atom.id]
            known = self._defined(atom)
            self._atoms[atom.id] = known
        return known

    def _defined(self, atom: Atom) -> str:
        if atom.is_opaque:
            self.exact = False
            variable = self.existential()
            self._bound(variable, atom.range)
            return variable
        definition = _DEFINITIONS.get(atom.kind)
        if definition is None:
            raise NotPresburger(f"{atom.name} is not described by linear constraints")
        variable = self.existential()
        self.constraints.append(definition(self, atom, variable))
        return variable

    def _product(self, monomial: Monomial) -> str:
        """A variable for a product, by cases over all factors but the one with most values."""
        known = self._products.get(monomial)
        if known is not None:
            return known
        atoms = [self.ctx.space.atoms[id] for id in monomial]
        sizes = [self.ctx.atom_range(atom).size for atom in atoms]
        widest = max(range(len(atoms)), key=lambda i: (sizes[i] is None, sizes[i] or 0))
        result = self.atom(atoms.pop(widest))
        for atom in atoms:
            result = self._case_product(atom, result)
        self._products[monomial] = result
        return result

    def _case_product(self, atom: Atom, other: str) -> str:
        values = self._few_values(self.ctx.space.of_atom(atom))
        factor, product = self.atom(atom), self.existential()
        cases = (f"({factor} = {v} and {product} = {v}*{other})" for v in values)
        self.constraints.append(disjoined(cases))
        return product

    def _few_values(self, poly: Poly) -> list[int]:
        known = self.ctx.range(poly)
        if known.lo is None or known.hi is None or known.hi - known.lo >= MAX_CASES:
            raise NotPresburger(f"{poly} takes too many values, {known}, to go through")
        return list(range(known.lo, known.hi + 1))

    def by_cases(self, poly: Poly, case: Callable[[int], str]) -> str:
        """The constraint for each value the polynomial may take."""
        constant = poly.constant
        if constant is not None:
            return case(constant)
        values, text = self._few_values(poly), self.linear(poly)
        return disjoined(f"({text} = {value} and {case(value)})" for value in values)

    # Formulas

    def formula(self, formula: Formula) -> str:
        if formula.kind is FormulaKind.CMP:
            assert formula.poly is not None
            return f"{self.linear(formula.poly)} {formula.rel} 0"
        if formula.kind is FormulaKind.PREDICATE:
            return f"{self._predicate(formula)} = {0 if formula.negated else 1}"
        if formula.parts:
            joiner = f" {formula.kind.value} "
            return joiner.join(f"({self.formula(part)})" for part in formula.parts)
        return formula.kind.value

    def _predicate(self, formula: Formula) -> str:
        """A 0/1 variable for an opaque condition, shared with its negation."""
        positive = ~formula if formula.negated else formula
        known = self._predicates.get(positive.id)
        if known is None:
            if positive.args:
                self.exact = False
                known = self.existential()
            else:
                known = self.variable(f"predicate {positive.name}")
            self._predicates[positive.id] = known
            self._bound(known, Interval(0, 1))
        return known


def disjoined(texts: Iterable[str]) -> str:
    return f"({' or '.join(texts)})"


def _floor_case(value: str, divisor: int, result: str) -> str:
    """result = floor(value / divisor)."""
    if divisor == 0:
        return f"{result} = 0"
    product = f"{divisor}*{result}"
    if divisor > 0:
        return f"({product} <= {value} and {value} <= {product} + {divisor - 1})"
    return f"({product} + {divisor + 1} <= {value} and {value} <= {product})"


def _trunc_case(value: str, divisor: int, result: str) -> str:
    """result = value / divisor, rounded towards zero."""
    if divisor == 0:
        return f"{result} = 0"
    slack, product = abs(divisor) - 1, f"{divisor}*{result}"
    above = f"({value} >= 0 and {product} <= {value} and {value} <= {product} + {slack})"
    below = f"({value} < 0 and {product} + {-slack} <= {value} and {value} <= {product})"
    return f"({above} or {below})"


def _define_fdiv(encoder: Encoder, atom: Atom, result: str) -> str:
    value = encoder.linear(atom.args[0])
    return encoder.by_cases(atom.args[1], lambda v: _floor_case(value, v, result))


def _define_tdiv(encoder: Encoder, atom: Atom, result: str) -> str:
    value = encoder.linear(atom.args[0])
    return encoder.by_cases(atom.args[1], lambda v: _trunc_case(value, v, result))


def _define_extreme(encoder: Encoder, atom: Atom, result: str) -> str:
    rel = "<=" if atom.kind is SymbolKind.MIN else ">="
    operands = [encoder.linear(arg) for arg in atom.args]
    bounds = " and ".join(f"{result} {rel} {operand}" for operand in operands)
    return f"({bounds} and {disjoined(f'{result} = {operand}' for operand in operands)})"


def _define_indicator(encoder: Encoder, atom: Atom, result: str) -> str:
    assert atom.formula is not None
    yes, no = encoder.formula(atom.formula), encoder.formula(~atom.formula)
    return f"(({result} = 1 and ({yes})) or ({result} = 0 and ({no})))"


def _define_shl(encoder: Encoder, atom: Atom, result: str) -> str:
    value = atom.args[0]
    return encoder.by_cases(
        atom.args[1], lambda k: f"{result} = {encoder.linear(value * (1 << k if k >= 0 else 0))}"
    )


def _define_shr(encoder: Encoder, atom: Atom, result: str) -> str:
    value = encoder.linear(atom.args[0])
    return encoder.by_cases(
        atom.args[1], lambda k: _floor_case(value, 1 << k if k >= 0 else 0, result)
    )


def _define_bits(encoder: Encoder, atom: Atom, result: str) -> str:
    """Bits under a constant mask, from the binary digits of the other operand.

    and(P, c) is the sum of the digits of P that c has; or and xor follow from
    P + c = or(P, c) + and(P, c) = xor(P, c) + 2*and(P, c).
    """
    value, mask = _masked(atom)
    text = encoder.linear(value)
    both = encoder.existential()
    # and(P, c) = P - and(P, ~c) covers a negative mask.
    digits = _digits(encoder, text, mask if mask >= 0 else ~mask)
    total = f"{both} = {digits}" if mask >= 0 else f"{text} = {both} + {digits}"
    weight = {SymbolKind.AND: None, SymbolKind.OR: 1, SymbolKind.XOR: 2}[atom.kind]
    if weight is None:
        return f"({total} and {result} = {both})"
    return f"({total} and {result} + {weight}*{both} = {text} + {mask})"


def _masked(atom: Atom) -> tuple[Poly, int]:
    for value, other in (atom.args, atom.args[::-1]):
        mask = other.constant
        if mask is not None and _mask_bits(mask) <= MAX_MASK_BITS:
            return value, mask
    raise NotPresburger(f"{atom.name} without a short constant mask")


def _mask_bits(mask: int) -> int:
    return (mask if mask >= 0 else ~mask).bit_length()


def _digits(encoder: Encoder, value: str, mask: int) -> str:
    """The sum of the digits of a value that a mask has, as a linear expression."""
    terms: list[str] = []
    chosen: list[str] = ["0"]
    for bit in range(mask.bit_length()):
        digit = encoder.existential()
        encoder.constraints.append(f"0 <= {digit} <= 1")
        terms.append(f"{1 << bit}*{digit}")
        if mask >> bit & 1:
            chosen.append(terms[-1])
    rest = encoder.existential()
    terms.append(f"{1 << mask.bit_length()}*{rest}")
    encoder.constraints.append(f"{value} = {' + '.join(terms)}")
    return " + ".join(chosen)


def _define_table(encoder: Encoder, atom: Atom, result: str) -> str:
    if len(atom.values) > MAX_TABLE:
        raise NotPresburger(f"a table of {len(atom.values)} entries")
    index = encoder.linear(atom.args[0])
    entries = [f"({index} = {i} and {result} = {v})" for i, v in enumerate(atom.values)]
    outside = f"(({index} < 0 or {index} >= {len(atom.values)}) and {result} = 0)"
    return disjoined((*entries, outside))


_DEFINITIONS: dict[SymbolKind, Callable[[Encoder, Atom, str], str]] = {
    SymbolKind.FDIV: _define_fdiv,
    SymbolKind.TDIV: _define_tdiv,
    SymbolKind.MIN: _define_extreme,
    SymbolKind.MAX: _define_extreme,
    SymbolKind.INDICATOR: _define_indicator,
    SymbolKind.AND: _define_bits,
    SymbolKind.OR: _define_bits,
    SymbolKind.XOR: _define_bits,
    SymbolKind.SHL: _define_shl,
    SymbolKind.SHR: _define_shr,
    SymbolKind.TABLE: _define_table,
}
