"""Values put in for symbols and calls, everywhere, with the result simplified again.

Atoms that contain nothing of what is replaced stay as they are; the others are made anew, oldest
first, by the operations of a context. All replacements happen at once: the values put in are not
looked into. A `Substitution` remembers the atoms it has replaced, so use one for many values.

A symbol declared with a divisor d stands for d times its atom; its replacement must be a
polynomial whose coefficients d divides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tilewright.analysis.affine.formula import (
    Formula,
    FormulaKind,
    compare,
    conjunction,
    disjunction,
)
from tilewright.analysis.affine.poly import Monomial, Poly, total
from tilewright.analysis.affine.symbols import Atom, SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context


def substitute(ctx: Context, poly: Poly, replacements: Mapping[Atom, Poly | int]) -> Poly:
    """The polynomial with atoms (symbols, calls) replaced by values."""
    return Substitution(ctx, replacements).poly(poly)


class Substitution:
    """A simultaneous replacement of symbols and calls."""

    def __init__(self, ctx: Context, replacements: Mapping[Atom, Poly | int]) -> None:
        self.ctx = ctx
        self._atoms: dict[int, Poly] = {}
        self._formulas: dict[int, Formula] = {}
        self._support = 0
        for atom, value in replacements.items():
            if atom.kind is not SymbolKind.SYMBOL and atom.kind is not SymbolKind.CALL:
                raise ValueError(f"{atom!r} is neither a symbol nor a call")
            self._atoms[atom.id] = _divided(atom, ctx.space.poly(value))
            self._support |= ctx.space.own_bit(atom)

    def poly(self, poly: Poly) -> Poly:
        if not poly.support & self._support:
            return poly
        self._prepare(poly)
        return self.ctx.limited(self._rebuilt(poly))

    def formula(self, formula: Formula) -> Formula:
        if not formula.support & self._support:
            return formula
        self._prepare(formula)
        return self._rebuilt_formula(formula)

    def _prepare(self, root: Poly | Formula) -> None:
        """Replaces the atoms below, operands first."""
        for atom in self._affected(root):
            if atom.id not in self._atoms:
                self._atoms[atom.id] = self._remade(atom)

    def _affected(self, root: Poly | Formula) -> list[Atom]:
        """Atoms to be made anew, oldest first."""
        atoms, mask = self.ctx.space.atoms, self._support
        found: set[int] = set()
        work: list[Poly | Formula] = [root]
        while work:
            item = work.pop()
            if not item.support & mask:
                continue
            if isinstance(item, Formula):
                work.extend(item.parts)
                work.extend(item.polys)
                continue
            for id in item.atom_ids() - found:
                if id not in self._atoms and atoms[id].support & mask:
                    found.add(id)
                    work.extend(atoms[id].args)
                    formula = atoms[id].formula
                    if formula is not None:
                        work.append(formula)
        return [atoms[id] for id in sorted(found)]

    def _rebuilt(self, poly: Poly) -> Poly:
        space, replaced = self.ctx.space, self._atoms
        parts: list[Poly] = []
        untouched: dict[Monomial, int] = {}
        for monomial, coefficient in poly.terms.items():
            if not any(id in replaced for id in monomial):
                untouched[monomial] = coefficient
                continue
            remaining = tuple(id for id in monomial if id not in replaced)
            product = Poly(space, {remaining: coefficient})
            for id in monomial:
                if id in replaced:
                    product = product * replaced[id]
            parts.append(product)
        return total(space, (Poly(space, untouched), *parts))

    def _rebuilt_formula(self, formula: Formula) -> Formula:
        if not formula.support & self._support:
            return formula
        known = self._formulas.get(formula.id)
        if known is None:
            known = self._formulas[formula.id] = self._new_formula(formula)
        return known

    def _new_formula(self, formula: Formula) -> Formula:
        space = self.ctx.space
        if formula.kind is FormulaKind.AND:
            return conjunction(space, map(self._rebuilt_formula, formula.parts))
        if formula.kind is FormulaKind.OR:
            return disjunction(space, map(self._rebuilt_formula, formula.parts))
        if formula.kind is FormulaKind.PREDICATE:
            args = tuple(map(self._rebuilt, formula.args))
            made = space.formula(
                FormulaKind.PREDICATE, name=formula.name, args=args, deps=formula.own_deps
            )
            return ~made if formula.negated else made
        assert formula.poly is not None
        return compare(formula.rel, self._rebuilt(formula.poly))

    def _remade(self, atom: Atom) -> Poly:
        args = tuple(map(self._rebuilt, atom.args))
        if atom.kind is SymbolKind.CALL:
            return self.ctx.space.recalled(atom, args)
        if atom.kind is SymbolKind.WRAP:
            return self.ctx.limited(args[0])
        if atom.kind is SymbolKind.TABLE:
            return self.ctx.table(atom.values, args[0])
        if atom.formula is not None:
            formula = self._rebuilt_formula(atom.formula)
            yes, no = args or (1, 0)
            return self.ctx.select(formula, yes, no)
        return self.ctx.apply(atom.kind, *args)


def _divided(atom: Atom, value: Poly) -> Poly:
    if any(c % atom.divisor for c in value.terms.values()):
        raise ValueError(f"{atom.name} = {value} is not a multiple of {atom.divisor}")
    return value.exact_quotient(atom.divisor)
