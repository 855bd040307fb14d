"""P0: ranges and congruences, and bounds of polynomials found by elimination.

``decide`` uses the algebra's own prover. ``upper_bound`` looks for a polynomial in arguments only
that a value cannot exceed where a formula holds: each program id, counter and lane is eliminated
with an inequality of the mask (``lane + 64*it < K`` removes both at once) or with its own bound.
Such a bound is what a buffer has to hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tilewright.analysis.affine import Atom, Context, Poly
from tilewright.analysis.affine.formula import FormulaKind, compare
from tilewright.analysis.pid_address.atoms import kind_of
from tilewright.analysis.pid_address.checks.findings import Method
from tilewright.analysis.pid_address.checks.questions import QueryResult, Question
from tilewright.analysis.pid_address.checks.regions import (
    AddressRegion,
    conjuncts,
    shown_content,
    varies,
)
from tilewright.analysis.pid_address.checks.settings import Effort


def decide(question: Question, _effort: Effort) -> QueryResult:
    """No, if ranges alone exclude every solution."""
    context = question.space.root
    for part in conjuncts(question.formula):
        context = context.assume(part)
        if context.unreachable:
            return QueryResult(False, Method.INTERVALS)
    if context.decide(question.formula) is False:
        return QueryResult(False, Method.INTERVALS)
    return QueryResult(None, Method.INTERVALS)


@dataclass(frozen=True)
class Limit:
    """A value that is not exceeded, if the given ones are not negative."""

    value: Poly
    signs: tuple[Poly, ...]


def upper_bound(region: AddressRegion, value: Poly) -> Poly | None:
    """A polynomial in arguments and grid that the value never exceeds in the region."""
    limit = upper_limit(region, value, assume_signs=False)
    return None if limit is None else limit.value


def upper_limit(region: AddressRegion, value: Poly, assume_signs: bool = True) -> Limit | None:
    """The same, with strides taken to be positive if need be."""
    context, signs = region.context(), list[Poly]()
    for factor in _factors(region, value) if assume_signs else ():
        if not context.is_nonneg(factor) and not context.is_nonneg(-factor):
            unit = factor.exact_quotient(shown_content(factor))
            signs.append(unit)
            context = context.assume(compare(">=", unit, 0))
    for limit in sorted(_limits(region), key=lambda poly: -len(poly.terms)):
        value = _eliminated(context, value, limit)
    if varies(value):
        bounded = _bounded(context, region, value)
        if bounded is None or varies(bounded):
            return None
        value = bounded
    return Limit(value, tuple(signs))


def _factors(region: AddressRegion, value: Poly) -> Iterator[Poly]:
    """What program ids, counters and lanes are multiplied with."""
    for symbol in region.symbols:
        factor = value.coefficient_of(symbol)
        if factor is not None and factor.terms and not varies(factor):
            yield factor


def upper_bounds(region: AddressRegion, value: Poly) -> list[Poly]:
    """Bounds by the mask and by the domain alone: the value exceeds none of them."""
    context = region.context()
    found: list[Poly] = []
    candidates = [upper_bound(region, value), _by_domain(context, region, value)]
    candidates += [value + limit * factor for limit, factor in _matching(region, value)]
    for bound in candidates:
        if bound is not None and not varies(bound) and bound not in found:
            found.append(bound)
    return found


def _matching(region: AddressRegion, value: Poly) -> Iterator[tuple[Poly, int]]:
    for limit in _limits(region):
        yield limit, 1
        if value.content > 1:
            yield limit, value.content


def _limits(region: AddressRegion) -> Iterator[Poly]:
    """Polynomials that are not negative in the region, by its comparisons."""
    for part in conjuncts(region.where):
        if part.kind is FormulaKind.CMP and part.rel == "<" and part.poly is not None:
            yield -part.poly - 1


def _eliminated(context: Context, value: Poly, limit: Poly) -> Poly:
    """value + factor*limit for the factor that removes the limit's varying symbols."""
    for atom in limit.atoms():
        if not varies(limit.space.of_atom(atom)):
            continue
        there, here = limit.split(atom)[0], value.split(atom)[0]
        unit = there.constant
        if not unit or not here.terms or here.content % abs(unit):
            continue
        factor = here.exact_quotient(abs(unit)) * (1 if unit < 0 else -1)
        if varies(factor) or not context.is_nonneg(factor):
            continue
        bounded = value + factor * limit
        if _count(bounded) < _count(value):
            return bounded
    return value


def _count(poly: Poly) -> int:
    """Terms that differ between programs, iterations or lanes."""
    space = poly.space
    return sum(
        1
        for monomial in poly.terms
        if any(varies(space.of_atom(space.atoms[id])) for id in monomial)
    )


def _bounded(context: Context, region: AddressRegion, value: Poly) -> Poly | None:
    bounded = _by_domain(context, region, value)
    return _by_range(context, region, value) if bounded is None else bounded


def _by_domain(context: Context, region: AddressRegion, value: Poly) -> Poly | None:
    for symbol in reversed(region.symbols):
        bounded = _without(context, region, value, symbol)
        if bounded is None:
            return None
        value = bounded
    return value


def _by_range(context: Context, region: AddressRegion, value: Poly) -> Poly | None:
    """An integer, if arguments and grid are given: otherwise it would be useless."""
    symbols = region.space.atoms_within((value, region.where))
    if any(kind_of(atom) in ("arg", "np") for atom in symbols):
        return None
    highest = context.range(value).hi
    return None if highest is None else region.space.const(highest)


def _without(context: Context, region: AddressRegion, value: Poly, symbol: Atom) -> Poly | None:
    """The value with a symbol at the end of its range that makes it largest."""
    factor = value.coefficient_of(symbol)
    if factor is None:
        return None
    if not factor.terms:
        return value
    lower, upper = _ends(region, symbol)
    rest = value - factor * region.space.of_atom(symbol)
    if context.is_nonneg(factor):
        return None if upper is None else context.limited(rest + factor * upper)
    if context.is_nonneg(-factor):
        return None if lower is None else context.limited(rest + factor * lower)
    return None


def _ends(region: AddressRegion, symbol: Atom) -> tuple[Poly | None, Poly | None]:
    bound = region.access.domain.of(symbol)
    if bound is not None:
        return bound.lower, bound.upper
    space, limits = region.space, symbol.range
    return (
        None if limits.lo is None else space.const(limits.lo),
        None if limits.hi is None else space.const(limits.hi),
    )
