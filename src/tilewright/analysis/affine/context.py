"""The facts at one program point, and the operations that use them.

A context is a space with facts. The root has what the symbols declare (range, divisor);
`assume(formula)` returns a child that also has the formula, leaving the parent as it was. All
operations that simplify go through a context, because each rewriting rule rests on something that
has to be proved there: a value simplified in a context is right wherever its facts hold.

    ctx.fdiv mod ceil_div tdiv trem minimum maximum select bit_and bit_or bit_xor shl shr table
    ctx.range(P)  ctx.congruence(P)  ctx.is_nonneg(P)  ctx.decide(F)  ctx.compare("<", P, Q)

Sums, differences and products need no context: write them with operators and pass the result
through `limited`, which keeps values small (64 monomials, degree 6, nesting 8).
"""

from __future__ import annotations

from tilewright.analysis.affine import bounds, prover, residues, simplify
from tilewright.analysis.affine.congruence import Congruence
from tilewright.analysis.affine.facts import Facts, facts_with
from tilewright.analysis.affine.formula import (
    Formula,
    FormulaKind,
    compare,
    conjunction,
    disjunction,
)
from tilewright.analysis.affine.poly import Poly
from tilewright.analysis.affine.ranges import Interval
from tilewright.analysis.affine.space import Space
from tilewright.analysis.affine.symbols import Atom, SymbolKind

MAX_MONOMIALS = 64
MAX_DEGREE = 6
MAX_DEPTH = 8


class Context:
    """Facts about the atoms of a space, and arithmetic that may rely on them."""

    def __init__(
        self,
        space: Space,
        facts: Facts | None = None,
        splits: int = 0,
    ) -> None:
        self.space = space
        self.facts = facts or Facts()
        self.splits = splits
        """How many case distinctions led here; each doubles the work, so they are bounded."""
        self._ranges: dict[Poly, Interval] = {}
        self._congruences: dict[Poly, Congruence] = {}
        self._atom_ranges: dict[int, Interval] = {}
        self._atom_congruences: dict[int, Congruence] = {}
        self._results: dict[tuple[SymbolKind, tuple[Poly, ...]], Poly] = {}
        self._signs: dict[Poly, bool] = {}
        self._truths: dict[int, bool | None] = {}
        self._children: dict[int, Context] = {}
        self._cases: dict[int, Context] = {}

    # Knowledge

    @property
    def unreachable(self) -> bool:
        """The facts contradict each other: no execution gets here."""
        return self.facts.contradictory

    def assume(self, formula: Formula) -> Context:
        """This context with one more formula known to hold."""
        if formula.truth is True:
            return self
        child = self._children.get(formula.id)
        if child is None:
            child = self._children[formula.id] = self._child(formula, self.splits)
        return child

    def case(self, formula: Formula) -> Context:
        """The same for one side of a case distinction."""
        child = self._cases.get(formula.id)
        if child is None:
            child = self._cases[formula.id] = self._child(formula, self.splits + 1)
        return child

    def _child(self, formula: Formula, splits: int) -> Context:
        return Context(self.space, facts_with(self, formula), splits)

    def _has_no_facts_about(self, support: int) -> bool:
        """No fact is about these symbols: the root, which is shared, has the same results."""
        return not support & self.facts.covered and self is not self.space.root

    def range(self, poly: Poly) -> Interval:
        if self._has_no_facts_about(poly.support):
            return self.space.root.range(poly)
        known = self._ranges.get(poly)
        if known is None:
            known = self._ranges[poly] = bounds.range_of(self, poly)
        return known

    def congruence(self, poly: Poly) -> Congruence:
        if self._has_no_facts_about(poly.support):
            return self.space.root.congruence(poly)
        known = self._congruences.get(poly)
        if known is None:
            known = self._congruences[poly] = residues.congruence_of(self, poly)
        return known

    def atom_range(self, atom: Atom) -> Interval:
        if self._has_no_facts_about(atom.support):
            return self.space.root.atom_range(atom)
        known = self._atom_ranges.get(atom.id)
        if known is None:
            known = self._atom_ranges[atom.id] = bounds.atom_range(self, atom)
        return known

    def atom_congruence(self, atom: Atom) -> Congruence:
        if self._has_no_facts_about(atom.support):
            return self.space.root.atom_congruence(atom)
        known = self._atom_congruences.get(atom.id)
        if known is None:
            known = self._atom_congruences[atom.id] = residues.atom_congruence(self, atom)
        return known

    def is_nonneg(self, poly: Poly | int) -> bool:
        """Is the value proved to be at least 0?"""
        poly = self.space.poly(poly)
        known = self._signs.get(poly)
        if known is None:
            known = self._signs[poly] = prover.is_nonneg(self, poly)
        return known

    def is_positive(self, poly: Poly | int) -> bool:
        return self.is_nonneg(poly - 1)

    def is_multiple(self, poly: Poly, divisor: int) -> bool:
        """Is the value proved to be a multiple of a positive integer?"""
        return self.congruence(poly).modulo(divisor) == 0

    def decide(self, formula: Formula) -> bool | None:
        """True or False if proved, None if not known."""
        if formula.id not in self._truths:
            self._truths[formula.id] = prover.decide(self, formula)
        return self._truths[formula.id]

    def proves_equal(self, left: Poly, right: Poly | int) -> bool:
        return self.decide(compare("=", left, right)) is True

    # Conditions

    def compare(self, rel: str, left: Poly | int, right: Poly | int = 0) -> Formula:
        """The comparison, replaced by true or false where the facts decide it."""
        return self.known(compare(rel, self.space.poly(left), right))

    def known(self, formula: Formula) -> Formula:
        """The formula with decided parts replaced by constants."""
        truth = self.decide(formula)
        if truth is not None:
            return self.space.true if truth else self.space.false
        if not formula.parts:
            return formula
        join = conjunction if formula.kind is FormulaKind.AND else disjunction
        return join(self.space, (self.known(part) for part in formula.parts))

    # Arithmetic

    def fdiv(self, dividend: Poly | int, divisor: Poly | int) -> Poly:
        """Quotient rounded down; of zero it is zero, as its remainder is."""
        if self.space.poly(dividend).constant == 0:
            return self.space.zero
        return self.apply(SymbolKind.FDIV, dividend, divisor)

    def mod(self, dividend: Poly | int, divisor: Poly | int) -> Poly:
        """Remainder with the sign of the divisor."""
        dividend, divisor = self.limited(dividend), self.limited(divisor)
        return self._remainder(dividend - divisor * self.fdiv(dividend, divisor))

    def ceil_div(self, dividend: Poly | int, divisor: Poly | int) -> Poly:
        """Quotient rounded up; the divisor must be positive."""
        return self.fdiv(dividend + divisor - 1, divisor)

    def tdiv(self, dividend: Poly | int, divisor: Poly | int) -> Poly:
        """Quotient rounded towards zero."""
        return self.apply(SymbolKind.TDIV, dividend, divisor)

    def trem(self, dividend: Poly | int, divisor: Poly | int) -> Poly:
        """Remainder with the sign of the dividend."""
        dividend, divisor = self.limited(dividend), self.limited(divisor)
        return self._remainder(dividend - divisor * self.tdiv(dividend, divisor))

    def _remainder(self, value: Poly) -> Poly:
        """S2 by residues: a remainder that can only be one number is that number."""
        constant = self.range(value).constant
        return self.limited(value) if constant is None else self.space.const(constant)

    def minimum(self, *values: Poly | int) -> Poly:
        return self.apply(SymbolKind.MIN, *values)

    def maximum(self, *values: Poly | int) -> Poly:
        return self.apply(SymbolKind.MAX, *values)

    def indicator(self, formula: Formula) -> Poly:
        """1 where the formula holds, 0 elsewhere."""
        return self.select(formula, 1, 0)

    def select(self, formula: Formula, yes: Poly | int, no: Poly | int) -> Poly:
        """`yes` where the formula holds, `no` elsewhere."""
        return self.limited(
            simplify.select(self, formula, self.space.poly(yes), self.space.poly(no))
        )

    def bit_and(self, left: Poly | int, right: Poly | int) -> Poly:
        return self.apply(SymbolKind.AND, left, right)

    def bit_or(self, left: Poly | int, right: Poly | int) -> Poly:
        return self.apply(SymbolKind.OR, left, right)

    def bit_xor(self, left: Poly | int, right: Poly | int) -> Poly:
        return self.apply(SymbolKind.XOR, left, right)

    def shl(self, value: Poly | int, amount: Poly | int) -> Poly:
        return self.apply(SymbolKind.SHL, value, amount)

    def shr(self, value: Poly | int, amount: Poly | int) -> Poly:
        """Arithmetic shift: the sign stays. For a value known to be non-negative the logical
        shift is the same; for others it has no meaning without a width."""
        return self.apply(SymbolKind.SHR, value, amount)

    def table(self, values: tuple[int, ...], index: Poly | int) -> Poly:
        """values[index]; an index outside is undefined."""
        index = self.limited(index)
        return self.limited(simplify.table(self, values, index))

    def apply(self, kind: SymbolKind, *args: Poly | int) -> Poly:
        """The operation of a derived kind, one with polynomials as operands."""
        if kind is SymbolKind.MOD:
            return self.mod(*args)
        if kind is SymbolKind.TREM:
            return self.trem(*args)
        operands = tuple(map(self.limited, args))
        if all(self._has_no_facts_about(operand.support) for operand in operands):
            return self.space.root.apply(kind, *operands)
        key = (kind, operands)
        known = self._results.get(key)
        if known is None:
            known = self._results[key] = self.limited(simplify.simplified(self, kind, operands))
        return known

    def limited(self, value: Poly | int) -> Poly:
        """The value, or an opaque atom for it if it has grown beyond the limits."""
        if isinstance(value, int):
            return self.space.const(value)
        if (
            len(value.terms) <= MAX_MONOMIALS
            and value.degree <= MAX_DEGREE
            and value.depth <= MAX_DEPTH
        ):
            return value
        content = value.content
        value = value.exact_quotient(content)
        return self.space.of_atom(self.space.wrap(value, self.space.root.range(value))) * content
