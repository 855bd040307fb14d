"""A loop-carried value as a function of the number of completed iterations.

The same form gives the value inside the loop, at the counter, and after it, at the trip count. It
is computed in the context of its program point: inside the loop the counter is below the trip
count, after it that does not hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tilewright.analysis.affine import Atom, Poly, Substitution
from tilewright.analysis.pid_address.scope import Scope
from tilewright.analysis.pid_address.transfer.integers import chosen_axes, is_affine
from tilewright.analysis.pid_address.values import Boolean, Integer


@dataclass(frozen=True)
class Same:
    """Never changed."""

    first: Integer | Boolean
    basis: int

    def at(self, scope: Scope, counter: Atom, count: Poly) -> Integer | Boolean:
        first = self.first
        if isinstance(first, Boolean):
            return Boolean(first.formula, self.basis)
        return Integer(first.expr, first.virtual, first.is_simple, self.basis)


@dataclass(frozen=True)
class Sum:
    """Changed by ``constant + slope*it`` in turn ``it``."""

    first: Integer
    constant: Poly
    slope: Poly
    basis: int

    def at(self, scope: Scope, counter: Atom, count: Poly) -> Integer:
        change = self.constant * count
        if self.slope.terms:
            change = change + self._triangle(scope, count)
        first = self.first
        expr = scope.ctx.limited(first.expr + change)
        step = self.constant + self.slope * scope.space.of_atom(counter)
        plain = is_affine(scope, step, self.basis)
        if first.virtual is first.expr and plain:
            return Integer(expr, expr, first.is_simple, self.basis)
        virtual = first.virtual + change if plain and first.virtual is not None else None
        return Integer(expr, virtual, is_simple=False, basis=self.basis)

    def _triangle(self, scope: Scope, count: Poly) -> Poly:
        """``slope * (0 + 1 + ... + (turns - 1))``."""
        twice = count * (count - 1)
        if self.slope.content % 2 == 0:
            return self.slope.exact_quotient(2) * twice
        return self.slope * scope.ctx.fdiv(twice, 2)


@dataclass(frozen=True)
class Delayed:
    """Computed in each iteration from values that are not loop-carried."""

    first: Integer
    made: Poly
    """What an iteration yields, as a function of the counter."""
    basis: int

    def at(self, scope: Scope, counter: Atom, count: Poly) -> Integer:
        ctx = scope.ctx
        before = Substitution(ctx, {counter: count - 1}).poly(self.made)
        expr = ctx.select(ctx.compare("=", count, 0), self.first.expr, before)
        basis = self.basis | chosen_axes(scope, self.first.expr, before)
        plain = is_affine(scope, expr, basis)
        return Integer(expr, expr if plain else None, is_simple=plain, basis=basis)


@dataclass(frozen=True)
class DelayedCondition:
    """The same for a condition."""

    first: Boolean
    made: Boolean
    basis: int

    def at(self, scope: Scope, counter: Atom, count: Poly) -> Boolean:
        ctx = scope.ctx
        before = Substitution(ctx, {counter: count - 1}).formula(self.made.formula)
        starting = ctx.compare("=", count, 0)
        formula = (starting & self.first.formula) | (~starting & before)
        return Boolean(formula, self.basis)


ClosedForm: TypeAlias = Same | Sum | Delayed | DelayedCondition
