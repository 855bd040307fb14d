"""The space of an analysis: creates and owns its atoms and formulas, each once.

Everything of one analysis lives in one space and goes away with it; ids are numbered in order of
making, so the same analysis gives the same ids. Nothing is simplified here: a `Context` has the
facts and applies the rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tilewright.analysis.affine.formula import Formula, FormulaKind
from tilewright.analysis.affine.poly import Monomial, Poly
from tilewright.analysis.affine.ranges import ALL, BIT, Interval
from tilewright.analysis.affine.symbols import Atom, SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context


class Space:
    """Owner of atoms, formulas and dependency names."""

    def __init__(self) -> None:
        self.atoms: list[Atom] = []
        self.formulas: list[Formula] = []
        self.true = self._constant_formula(FormulaKind.TRUE)
        self.false = self._constant_formula(FormulaKind.FALSE)
        self.zero = Poly(self, {})
        self.one = Poly(self, {(): 1})
        self._atom_table: dict[object, Atom] = {}
        self._formula_table: dict[object, Formula] = {}
        self._dep_bits: dict[str, int] = {}
        self._own_bits: dict[int | str, int] = {}
        """Atom id, or name of a predicate, -> bit in supports."""
        self._indicators: set[int] = set()
        self._wraps: dict[Poly, Atom] = {}
        self.remainder_views: dict[Poly, Poly] = {}
        """Results of `view.with_remainders`, cached: many contexts need the same."""
        self._root: Context | None = None

    @property
    def root(self) -> Context:
        """The context without facts beyond what the symbols declare."""
        if self._root is None:
            from tilewright.analysis.affine.context import Context

            self._root = Context(self)
        return self._root

    # Polynomials

    def const(self, value: int) -> Poly:
        return Poly(self, {(): value}) if value else self.zero

    def poly(self, value: Poly | int) -> Poly:
        return self.const(value) if isinstance(value, int) else value

    def of_atom(self, atom: Atom) -> Poly:
        return Poly(self, {(atom.id,): 1})

    def symbol(
        self,
        name: str,
        range: Interval = ALL,
        divisor: int = 1,
        deps: Iterable[str] | None = None,
        role: object = None,
    ) -> Poly:
        """A value from outside. The same description gives the same atom; two symbols of one
        name that differ otherwise are two atoms that share their value in an evaluation."""
        base = _divided(name, range, divisor)
        mask = self._dep_mask((name,) if deps is None else deps)
        atom = self._intern(SymbolKind.SYMBOL, name, (), None, (), role, divisor, mask, base)
        return Poly(self, {(atom.id,): divisor})

    def call(
        self,
        name: str,
        args: Iterable[Poly] = (),
        range: Interval = ALL,
        divisor: int = 1,
        deps: Iterable[str] = (),
        role: object = None,
        hidden: int = 0,
    ) -> Poly:
        """An opaque value: an unknown function of its operands, such as a load at a lane.

        Substitution reaches the operands, so `u(lane0)` can become `u(lane1)`. The last `hidden`
        operands are not printed.
        """
        base = _divided(name, range, divisor)
        mask = self._dep_mask(deps)
        operands = tuple(args)
        atom = self._intern(
            SymbolKind.CALL, name, operands, None, (), role, divisor, mask, base, hidden
        )
        return Poly(self, {(atom.id,): divisor})

    def recalled(self, call: Atom, args: tuple[Poly, ...]) -> Poly:
        """The atom of an opaque function at other operands."""
        atom = self._intern(
            SymbolKind.CALL,
            call.name,
            args,
            None,
            (),
            call.role,
            call.divisor,
            call.own_deps,
            call.range,
            call.hidden,
        )
        return self.of_atom(atom)

    def derived(self, kind: SymbolKind, args: tuple[Poly, ...]) -> Atom:
        """An atom of an operation, as it stands."""
        return self._intern(kind, kind.value, args, None, (), None, 1, 0, ALL)

    def wrap(self, value: Poly, range: Interval) -> Atom:
        """An opaque atom for a value that became too large; numbered, so that its name is short."""
        known = self._wraps.get(value)
        if known is None:
            name = f"u({len(self._wraps)})"
            known = self._intern(SymbolKind.WRAP, name, (value,), None, (), None, 1, 0, range)
            self._wraps[value] = known
        return known

    def table(self, values: tuple[int, ...], index: Poly) -> Atom:
        if not values:
            raise ValueError("a table needs values")
        span = Interval(min(values), max(values))
        return self._intern(SymbolKind.TABLE, "table", (index,), None, values, None, 1, 0, span)

    def indicator(self, formula: Formula) -> Atom:
        """1 where the formula holds, 0 elsewhere."""
        atom = self._intern(SymbolKind.INDICATOR, "indicator", (), formula, (), None, 1, 0, BIT)
        self._indicators.add(atom.id)
        return atom

    def select_view(self, formula: Formula, yes: Poly, no: Poly) -> Atom:
        """A selection as an atom, for views only."""
        return self._intern(SymbolKind.SELECT, "sel", (yes, no), formula, (), None, 1, 0, ALL)

    def merge(self, left: Monomial, right: Monomial) -> Monomial:
        """The product of two monomials."""
        if not left:
            return right
        if not right:
            return left
        if not self._indicators:
            return tuple(sorted(left + right))
        doubled = self._indicators.intersection(left).intersection(right)
        if doubled:  # an indicator is its own square
            right = tuple(id for id in right if id not in doubled)
        return tuple(sorted(left + right))

    def _intern(
        self,
        kind: SymbolKind,
        name: str,
        args: tuple[Poly, ...],
        formula: Formula | None,
        values: tuple[int, ...],
        role: object,
        divisor: int,
        mask: int,
        range: Interval,
        hidden: int = 0,
    ) -> Atom:
        key = (kind, name, args, formula, values, role, divisor, mask, range, hidden)
        known = self._atom_table.get(key)
        if known is not None:
            return known
        id = len(self.atoms)
        own, support, depth = mask, 0, 0
        for arg in args:
            mask |= arg.deps_mask
            support |= arg.support
            depth = max(depth, arg.depth)
        if formula is not None:
            mask |= formula.deps_mask
            support |= formula.support
            depth = max(depth, formula.depth)
        if kind is SymbolKind.SYMBOL or kind is SymbolKind.CALL:
            support |= self._own_bit(id)
        else:
            depth += 1
        if kind is SymbolKind.CALL or kind is SymbolKind.WRAP:
            depth = 0  # opaque: nesting starts anew
        atom = Atom(
            id,
            kind,
            name,
            args,
            formula,
            values,
            role,
            divisor,
            own,
            mask,
            support,
            depth,
            range,
            hidden,
        )
        self.atoms.append(atom)
        self._atom_table[key] = atom
        return atom

    # Formulas

    def _constant_formula(self, kind: FormulaKind) -> Formula:
        formula = Formula(self, len(self.formulas), kind, "", None, (), "", (), False, 0, 0, 0, 0)
        self.formulas.append(formula)
        return formula

    def formula(
        self,
        kind: FormulaKind,
        rel: str = "",
        poly: Poly | None = None,
        parts: tuple[Formula, ...] = (),
        name: str = "",
        args: tuple[Poly, ...] = (),
        negated: bool = False,
        deps: int = 0,
    ) -> Formula:
        """A formula as it stands; `formula.py` has the functions that normalise."""
        key = (kind, rel, poly, parts, name, args, negated, deps)
        known = self._formula_table.get(key)
        if known is not None:
            return known
        polys = args if poly is None else (poly, *args)
        own, support, depth = deps, 0, 0
        for inner in (*polys, *parts):
            deps |= inner.deps_mask
            support |= inner.support
            depth = max(depth, inner.depth)
        if kind is FormulaKind.PREDICATE:
            depth = 0
            support |= self._own_bit(name)
        made = Formula(
            self,
            len(self.formulas),
            kind,
            rel,
            poly,
            parts,
            name,
            args,
            negated,
            own,
            deps,
            support,
            depth,
        )
        self.formulas.append(made)
        self._formula_table[key] = made
        return made

    def predicate(self, name: str, args: Iterable[Poly] = (), deps: Iterable[str] = ()) -> Formula:
        """An opaque condition: may hold or not, but always the same for the same operands."""
        return self.formula(
            FormulaKind.PREDICATE, name=name, args=tuple(args), deps=self._dep_mask(deps)
        )

    # Dependencies

    def dep_bit(self, name: str) -> int:
        return self._dep_bits.setdefault(name, 1 << len(self._dep_bits))

    def _dep_mask(self, names: Iterable[str]) -> int:
        mask = 0
        for name in names:
            mask |= self.dep_bit(name)
        return mask

    def dep_names(self, mask: int) -> frozenset[str]:
        return frozenset(name for name, bit in self._dep_bits.items() if bit & mask)

    def own_bit(self, atom: Atom) -> int:
        """The bit of a symbol or call in supports."""
        return self._own_bits[atom.id]

    def _own_bit(self, key: int | str) -> int:
        return self._own_bits.setdefault(key, 1 << len(self._own_bits))

    # Walking

    def atoms_within(self, roots: Iterable[Poly | Formula]) -> list[Atom]:
        """All atoms in the given values, however deep, oldest first: operands come before the
        atoms that use them."""
        found: set[int] = set()
        seen_formulas: set[int] = set()
        work: list[Poly | Formula] = list(roots)
        while work:
            item = work.pop()
            if isinstance(item, Formula):
                if item.id not in seen_formulas:
                    seen_formulas.add(item.id)
                    work.extend(item.parts)
                    work.extend(item.polys)
                continue
            for id in item.atom_ids() - found:
                found.add(id)
                atom = self.atoms[id]
                work.extend(atom.args)
                if atom.formula is not None:
                    work.append(atom.formula)
        return [self.atoms[id] for id in sorted(found)]


def _divided(name: str, range: Interval, divisor: int) -> Interval:
    """The range of symbol / divisor."""
    if divisor < 1:
        raise ValueError(f"{name}: a divisor is at least 1, not {divisor}")
    lo = None if range.lo is None else -(-range.lo // divisor)
    hi = None if range.hi is None else range.hi // divisor
    if lo is not None and hi is not None and lo > hi:
        raise ValueError(f"{name}: no value in {range} is divisible by {divisor}")
    return Interval(lo, hi)
