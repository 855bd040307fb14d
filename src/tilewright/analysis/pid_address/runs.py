"""How long lanes stay together: runs of values that rise evenly, and of values that are equal.

``longest_run`` finds the largest g such that on aligned groups of g lanes a value rises by a
given unit (0: stays). The lane is written ``g*hi + lo`` and put into the polynomial; the rules of
the algebra then show whether the rest is free of ``lo``::

    mod(A + lane, M)    g divides A and M: the remainder of a group starts at a multiple of g

Truncating division needs a sign. Where the dividend's is open, the run is found under the condition
that it is not negative, which is recorded. (The sign of the divisor does not matter: a remainder by
-M is the remainder by M.) What depends on lanes alone is enumerated if all else fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from tilewright.analysis.affine import (
    Atom,
    Context,
    Formula,
    FormulaKind,
    Interval,
    Poly,
    Substitution,
    SymbolKind,
)
from tilewright.analysis.pid_address.counting import extent_of, longest_group, terms_with


@dataclass(frozen=True)
class Run:
    length: int
    assumes_signs: bool = False
    """Whether dividends are taken to be non-negative."""


def power_of_two_in(value: int, limit: int) -> int:
    """The largest power of two, up to a limit that is one, that divides `value`."""
    return min(value & -value, limit) if value else limit


def group_sizes(extent: int) -> list[int]:
    """Candidate lengths of aligned groups, longest first."""
    sizes = [extent]
    while sizes[-1] % 2 == 0 and sizes[-1] > 2:
        sizes.append(sizes[-1] // 2)
    return sizes if sizes[-1] > 1 else []


def longest_run(
    ctx: Context, value: Poly, lane: Atom, unit: int, *, may_assume: bool = True
) -> Run:
    """The longest aligned groups of lanes on which `value` rises by `unit`.

    `may_assume`: whether signs of dividends may be assumed.
    """
    extent = extent_of(lane)
    factor = value.coefficient_of(lane)
    if factor is not None:
        return Run(extent if factor == unit else 1)
    sizes = group_sizes(extent)
    for signs in (False, True) if may_assume and _has_truncated(value, lane) else (False,):
        # What short groups do not show, longer ones cannot.
        if sizes and _Split(ctx, lane, sizes[-1], assume_signs=signs).rises(value, unit):
            for size in sizes:
                if _Split(ctx, lane, size, assume_signs=signs).rises(value, unit):
                    return Run(size, signs)
    return Run(longest_group(terms_with(value, [lane]), lane, unit, sizes))


def _has_truncated(value: Poly, lane: Atom) -> bool:
    own = value.space.own_bit(lane)
    return any(atom.kind is SymbolKind.TDIV and atom.support & own for atom in value.atoms())


class _Split:
    """A lane as ``size*hi + lo``."""

    def __init__(self, ctx: Context, lane: Atom, size: int, *, assume_signs: bool = False) -> None:
        space = ctx.space
        high = space.symbol(f"{lane.name}.hi", Interval(0, max(extent_of(lane) // size - 1, 0)))
        low = space.symbol(f"{lane.name}.lo", Interval(0, size - 1))
        self._ctx = ctx
        self._low = low
        self._size = size
        self._lane = lane
        self._split_lane = high * size + low if size < extent_of(lane) else low
        self._assume_signs = assume_signs
        self._substitution = Substitution(ctx, {lane: self._split_lane})

    def rises(self, value: Poly, unit: int) -> bool:
        rest, factors = value, list[Poly]()
        for quotient in self._open_quotients(value):
            factor, rest, higher = rest.split(quotient)
            if higher.terms or not self._stays(quotient):
                return False
            # The quotient is the same throughout a group, so its factor has to be as well.
            factors.append(factor)
        return self._is_free(rest, unit) and all(self._is_free(one, 0) for one in factors)

    def _open_quotients(self, value: Poly) -> list[Atom]:
        """Truncated quotients in which the lane stands, if signs may be assumed."""
        if not self._assume_signs:
            return []
        own = value.space.own_bit(self._lane)
        return [
            atom for atom in value.atoms() if atom.kind is SymbolKind.TDIV and atom.support & own
        ]

    def _stays(self, quotient: Atom) -> bool:
        """A group that starts at a multiple of what divides the divisor stays in one quotient."""
        dividend, divisor = quotient.args
        factor = dividend.coefficient_of(self._lane)
        slope = None if factor is None else factor.constant
        if slope is None or slope < 1 or divisor.mentions(self._lane):
            return False
        width = slope * self._size
        start = dividend - dividend.space.of_atom(self._lane) * slope
        return self._ctx.is_multiple(start, width) and self._ctx.is_multiple(divisor, width)

    def _is_free(self, value: Poly, unit: int) -> bool:
        rest = self._substitution.poly(value) - self._low * unit
        return not rest.mentions(self._low_atom())

    def _low_atom(self) -> Atom:
        atom = self._low.atom
        assert atom is not None
        return atom


# Conditions.


def constancy(ctx: Context, formula: Formula, lane: Atom) -> int:
    """The longest aligned groups of lanes on which a condition does not change."""
    extent = extent_of(lane)
    if not formula.support & formula.space.own_bit(lane):
        return extent
    if formula.parts:
        return min(constancy(ctx, part, lane) for part in formula.parts)
    if formula.kind is not FormulaKind.CMP or ctx.decide(formula) is not None:
        return 1 if formula.kind is not FormulaKind.CMP else extent
    poly = formula.poly
    assert poly is not None
    factor = poly.coefficient_of(lane)
    if factor is None:
        equal = longest_run(ctx, poly, lane, 0, may_assume=False).length
        return max(equal, _runs_to_bound(ctx, poly, lane) if formula.rel == "<" else 1)
    if formula.rel != "<" or factor.constant is None:
        return 1
    slope = factor.constant
    rest = poly - poly.space.of_atom(lane) * slope
    if slope < 0:  # the negation has a rising left side and changes at the same lanes
        slope, rest = -slope, -rest - 1
    return _lanes_to_bound(ctx, slope, rest, extent)


def _runs_to_bound(ctx: Context, poly: Poly, lane: Atom) -> int:
    """Groups that ``poly < 0`` does not cut, where lanes are contiguous in groups only.

    A group that starts at a multiple of its length is over before the sign changes. If the value
    falls, the negation rises, and changes at the same lanes.
    """
    longest = 1
    for value in (poly, -poly - 1):
        length = longest_run(ctx, value, lane, 1, may_assume=False).length
        if length > 1:
            divisor = ctx.congruence(_at_starts(ctx, value, lane, length)).divisor
            longest = max(longest, power_of_two_in(gcd(divisor, length), extent_of(lane)))
    return longest


def _at_starts(ctx: Context, value: Poly, lane: Atom, size: int) -> Poly:
    """The value at the first lane of each aligned group."""
    last = extent_of(lane) // size - 1
    if last < 1:
        return Substitution(ctx, {lane: ctx.space.zero}).poly(value)
    high = ctx.space.symbol(f"{lane.name}.hi", Interval(0, last))
    return Substitution(ctx, {lane: high * size}).poly(value)


def _lanes_to_bound(ctx: Context, slope: int, rest: Poly, extent: int) -> int:
    """Groups that ``slope*lane + rest < 0`` does not cut: those that divide the bound."""
    if rest.constant is not None:
        first_false = -(rest.constant // slope)
        if not 0 < first_false < extent:
            return extent
        return power_of_two_in(first_false, extent)
    divisor = ctx.congruence(rest).divisor
    return power_of_two_in(divisor // slope, extent) if divisor % slope == 0 else 1
