"""Proofs of signs: is a polynomial never negative, does a formula always hold?

The range decides most questions. Where it does not, known inequalities are used to get rid of a
term that may be arbitrarily bad: from G >= 0 and a shared monomial with coefficients of the same
sign, `E >= 0` follows from `g*E - e*G >= 0`, in which that monomial no longer occurs. Two such
steps are tried. Inequalities come from the facts and from the meaning of atoms: a minimum is no
larger than its operands, `D*fdiv(P, D) <= P < D*fdiv(P, D) + D` for a positive D.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tilewright.analysis.affine.formula import Formula, FormulaKind
from tilewright.analysis.affine.poly import Monomial, Poly
from tilewright.analysis.affine.symbols import Atom, SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context

_STEPS = 2

# Eliminations tried for one question; a question that needs more is left open.
_BUDGET = 48


def is_nonneg(ctx: Context, poly: Poly) -> bool:
    lo = ctx.range(poly).lo
    if lo is not None and lo >= 0:
        return True
    hi = ctx.range(poly).hi
    if hi is not None and hi < 0:
        return False
    return _Search(ctx).proves(poly, _STEPS)


class _Search:
    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.budget = _BUDGET

    def proves(self, goal: Poly, steps: int) -> bool:
        for monomial, coefficient in sorted(goal.terms.items(), reverse=True):
            if not monomial:
                continue
            for fact in _inequalities(self.ctx, monomial):
                have = fact.terms[monomial]
                if (have > 0) != (coefficient > 0):
                    continue
                if self.budget == 0:
                    return False
                self.budget -= 1
                rest = goal * abs(have) - fact * abs(coefficient)
                lo = self.ctx.range(rest).lo
                if lo is not None and lo >= 0:
                    return True
                if steps > 1 and self.proves(rest, steps - 1):
                    return True
        return False


def _inequalities(ctx: Context, monomial: Monomial) -> Iterator[Poly]:
    """Polynomials that contain the monomial and are known to be at least 0."""
    yield from ctx.facts.inequalities.get(monomial, ())
    for id in dict.fromkeys(monomial):
        for fact in _meaning(ctx, ctx.space.atoms[id]):
            if monomial in fact.terms:
                yield fact


def _meaning(ctx: Context, atom: Atom) -> Iterator[Poly]:
    """What an operation implies about its own result, as polynomials of at least 0."""
    value = ctx.space.of_atom(atom)
    if atom.kind is SymbolKind.MIN:
        yield from (arg - value for arg in atom.args)
    elif atom.kind is SymbolKind.MAX:
        yield from (value - arg for arg in atom.args)
    elif atom.kind is SymbolKind.FDIV:
        dividend, divisor = atom.args
        lower = ctx.range(divisor).lo
        if lower is not None and lower > 0:
            remainder = dividend - value * divisor
            yield remainder
            yield divisor - remainder - 1


def decide(ctx: Context, formula: Formula) -> bool | None:
    """The truth of a formula, by ranges or by elimination."""
    return truth_of(ctx, formula, _compare_by_search)


def decide_by_range(ctx: Context, formula: Formula) -> bool | None:
    """The truth of a formula as far as ranges and congruences decide it.

    Ranges themselves are computed with this: it looks only at operands of the formula, whereas
    elimination uses inequalities about other, younger atoms and could recurse forever.
    """
    return truth_of(ctx, formula, _compare_by_range)


def truth_of(
    ctx: Context, formula: Formula, comparison: Callable[[Context, str, Poly], bool | None]
) -> bool | None:
    truth = formula.truth
    if truth is not None:
        return truth
    held = ctx.facts.held
    if formula.id in held:
        return True
    if held and (~formula).id in held:
        return False
    if formula.kind is FormulaKind.PREDICATE:
        return None
    if formula.kind is FormulaKind.CMP:
        assert formula.poly is not None
        return comparison(ctx, formula.rel, formula.poly)
    absorbing = formula.kind is FormulaKind.OR
    truths = [truth_of(ctx, part, comparison) for part in formula.parts]
    if absorbing in truths:
        return absorbing
    return None if None in truths else not absorbing


def _compare_by_range(ctx: Context, rel: str, poly: Poly) -> bool | None:
    known = ctx.range(poly)
    if rel == "<":
        if known.hi is not None and known.hi < 0:
            return True
        return False if known.lo is not None and known.lo >= 0 else None
    equal = None
    if 0 not in known or 0 not in ctx.congruence(poly):
        equal = False
    elif known.constant == 0:
        equal = True
    return equal if equal is None or rel == "=" else not equal


def _compare_by_search(ctx: Context, rel: str, poly: Poly) -> bool | None:
    by_range = _compare_by_range(ctx, rel, poly)
    if by_range is not None:
        return by_range
    if rel == "<":
        if ctx.is_nonneg(-poly - 1):
            return True
        return False if ctx.is_nonneg(poly) else None
    equal = _is_zero(ctx, poly)
    return equal if equal is None or rel == "=" else not equal


def _is_zero(ctx: Context, poly: Poly) -> bool | None:
    above, below = ctx.is_nonneg(poly), ctx.is_nonneg(-poly)
    if above and below:
        return True
    if (not below and ctx.is_nonneg(poly - 1)) or (not above and ctx.is_nonneg(-poly - 1)):
        return False
    return None
