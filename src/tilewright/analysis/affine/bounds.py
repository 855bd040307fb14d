"""Ranges and congruences of atoms and polynomials in a context.

The range of a sum is the sum of the ranges of its terms, which forgets that terms belong together.
Refinements recover what kernels need: an inequality known for the same linear form, the
remainder view (`x - 8*fdiv(x, 8)` is in 0..7), splitting on an indicator, which puts its condition
to use on both sides, and the residue class, to whose members the ends are moved. All of them only
ever narrow a range that is right already.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import TYPE_CHECKING

from tilewright.analysis.affine.congruence import Congruence
from tilewright.analysis.affine.poly import Poly
from tilewright.analysis.affine.prover import decide_by_range
from tilewright.analysis.affine.ranges import ALL, NON_NEGATIVE, Interval
from tilewright.analysis.affine.symbols import Atom, SymbolKind
from tilewright.analysis.affine.view import with_remainders

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context

# More conditions than this in one value are not split: each doubles the work.
_MAX_SPLITS = 3

# Shifts further than this leave every integer type; their size is not worth a bound.
_MAX_SHIFT = 512


def range_of(ctx: Context, poly: Poly) -> Interval:
    value = poly.constant
    if value is not None:
        return Interval.point(value)
    result = _sum_range(ctx, poly).narrowed(ctx.facts.range_of_form(poly))
    atoms = poly.atoms()
    if any(atom.kind is SymbolKind.FDIV or atom.kind is SymbolKind.TDIV for atom in atoms):
        view = with_remainders(poly)
        if view is not poly:
            result = result.narrowed(_sum_range(ctx, view))
    if len(poly.terms) > 1:
        conditions = [atom for atom in atoms if atom.kind is SymbolKind.INDICATOR]
        if 0 < len(conditions) <= _MAX_SPLITS:
            result = result.narrowed(_split_range(ctx, poly, conditions[-1]))
    return _rounded(result, ctx.congruence(poly))


def _rounded(known: Interval, congruence: Congruence) -> Interval:
    """The range from the first to the last member of a residue class within."""
    m, r = congruence.m, congruence.r
    if m == 1:
        return known
    if m == 0:
        return Interval.point(r)
    lo = None if known.lo is None else known.lo + (r - known.lo) % m
    hi = None if known.hi is None else known.hi - (known.hi - r) % m
    return known if lo is not None and hi is not None and lo > hi else Interval(lo, hi)


def _sum_range(ctx: Context, poly: Poly) -> Interval:
    """The sum of the ranges of the terms. Plain integers: this is the innermost loop of all."""
    atoms = ctx.space.atoms
    low: int | None = 0
    high: int | None = 0
    for monomial, coefficient in poly.terms.items():
        if not monomial:
            smallest = largest = 1
        else:
            known = (
                ctx.atom_range(atoms[monomial[0]])
                if len(monomial) == 1
                else _product_range(ctx, monomial)
            )
            smallest, largest = known.lo, known.hi
        if coefficient < 0:
            smallest, largest = largest, smallest
        low = None if low is None or smallest is None else low + coefficient * smallest
        high = None if high is None or largest is None else high + coefficient * largest
        if low is None and high is None:
            return ALL
    return Interval(low, high)


def _product_range(ctx: Context, monomial: tuple[int, ...]) -> Interval:
    product = Interval.point(1)
    for id in dict.fromkeys(monomial):
        product *= ctx.atom_range(ctx.space.atoms[id]).power(monomial.count(id))
    return product


def _split_range(ctx: Context, poly: Poly, condition: Atom) -> Interval:
    """The hull over both values of an indicator, each side knowing its condition."""
    formula = condition.formula
    assert formula is not None
    chosen, rest, _ = poly.split(condition)
    truth = decide_by_range(ctx, formula)
    if truth is not None:
        return ctx.range(rest + chosen if truth else rest)
    if ctx.splits == _MAX_SPLITS:
        return ALL
    sides = [(ctx.case(formula), rest + chosen), (ctx.case(~formula), rest)]
    ranges = [side.range(value) for side, value in sides if not side.unreachable]
    return reduce(Interval.hull, ranges) if ranges else ALL


def atom_range(ctx: Context, atom: Atom) -> Interval:
    known = ctx.facts.ranges.get(atom.id, ALL).narrowed(atom.range)
    compute = ATOM_RANGES.get(atom.kind)
    return known if compute is None else known.narrowed(compute(ctx, atom))


def _arg_ranges(ctx: Context, atom: Atom) -> list[Interval]:
    return [ctx.range(arg) for arg in atom.args]


def _magnitude(interval: Interval) -> int | None:
    if interval.lo is None or interval.hi is None:
        return None
    return max(abs(interval.lo), abs(interval.hi))


def _symmetric(limit: int | None) -> Interval:
    return ALL if limit is None else Interval(-limit, limit)


def _fdiv_range(ctx: Context, atom: Atom) -> Interval:
    value, divisor = _arg_ranges(ctx, atom)
    if divisor.lo is not None and divisor.lo > 0:
        return value.floor_div(divisor)
    if divisor.hi is not None and divisor.hi < 0:
        return (-value).floor_div(-divisor)
    return _symmetric(_magnitude(value))


def _tdiv_range(ctx: Context, atom: Atom) -> Interval:
    value, divisor = _arg_ranges(ctx, atom)
    if divisor.hi is not None and divisor.hi < 0:
        value, divisor = -value, -divisor
    if divisor.lo is None or divisor.lo <= 0:
        return _symmetric(_magnitude(value))
    # Rounding towards zero is floor division of the magnitude, sign by sign.
    lo = hi = None
    if value.lo is not None:
        lo = value.floor_div(divisor).lo if value.lo >= 0 else -(-value.lo // divisor.lo)
    if value.hi is not None:
        hi = value.hi // divisor.lo if value.hi >= 0 else _small_negative(value.hi, divisor.hi)
    return Interval(lo, hi)


def _small_negative(value: int, largest: int | None) -> int:
    """The greatest quotient of a negative value by divisors up to `largest`."""
    return 0 if largest is None else -(-value // largest)


def _mod_range(ctx: Context, atom: Atom) -> Interval:
    value, divisor = _arg_ranges(ctx, atom)
    if divisor.lo is not None and divisor.lo > 0:
        return value.floor_mod(divisor)
    if divisor.hi is not None and divisor.hi < 0:
        return -(-value).floor_mod(-divisor)
    return _symmetric(_magnitude(divisor))


def _trem_range(ctx: Context, atom: Atom) -> Interval:
    value, divisor = _arg_ranges(ctx, atom)
    limit = _magnitude(divisor)
    result = _symmetric(None if limit is None else max(limit - 1, 0))
    # The remainder has the sign of the dividend and is no larger.
    lo = 0 if value.lo is not None and value.lo >= 0 else value.lo
    hi = 0 if value.hi is not None and value.hi <= 0 else value.hi
    return result.narrowed(Interval(lo, hi))


def _min_range(ctx: Context, atom: Atom) -> Interval:
    ranges = _arg_ranges(ctx, atom)
    highs = [r.hi for r in ranges if r.hi is not None]
    return Interval(reduce(Interval.hull, ranges).lo, min(highs) if highs else None)


def _max_range(ctx: Context, atom: Atom) -> Interval:
    ranges = _arg_ranges(ctx, atom)
    lows = [r.lo for r in ranges if r.lo is not None]
    return Interval(max(lows) if lows else None, reduce(Interval.hull, ranges).hi)


def _indicator_range(ctx: Context, atom: Atom) -> Interval:
    assert atom.formula is not None
    truth = decide_by_range(ctx, atom.formula)
    return Interval(0, 1) if truth is None else Interval.point(int(truth))


def _select_range(ctx: Context, atom: Atom) -> Interval:
    assert atom.formula is not None
    truth = decide_by_range(ctx, atom.formula)
    yes, no = _arg_ranges(ctx, atom)
    return yes.hull(no) if truth is None else yes if truth else no


def _and_range(ctx: Context, atom: Atom) -> Interval:
    return _and_of(*_arg_ranges(ctx, atom))


def _and_of(left: Interval, right: Interval) -> Interval:
    known = [r for r in (left, right) if r.lo is not None and r.lo >= 0]
    if known:  # no larger than either operand that is not negative
        highs = [r.hi for r in known if r.hi is not None]
        return Interval(0, min(highs) if highs else None)
    lows = [-1 - r.lo if r.lo < 0 else 0 for r in (left, right) if r.lo is not None]
    lo = None if len(lows) < 2 else -(1 << max(low.bit_length() for low in lows))
    hi = None if left.hi is None or right.hi is None else max(left.hi, right.hi)
    return Interval(lo, hi)


def _complement(interval: Interval) -> Interval:
    """The range of ~x = -1 - x."""
    return Interval.point(-1) - interval


def _or_range(ctx: Context, atom: Atom) -> Interval:
    left, right = _arg_ranges(ctx, atom)
    result = _complement(_and_of(_complement(left), _complement(right)))
    if left.lo is None or right.lo is None or left.lo < 0 or right.lo < 0:
        return result
    return result.narrowed(Interval(max(left.lo, right.lo), _all_ones(left, right)))


def _xor_range(ctx: Context, atom: Atom) -> Interval:
    left, right = _arg_ranges(ctx, atom)
    ones = _all_ones(left, right)
    if left.lo is not None and right.lo is not None and left.lo >= 0 and right.lo >= 0:
        return Interval(0, ones)
    return ALL if ones is None else Interval(-1 - ones, ones)


def _all_ones(*operands: Interval) -> int | None:
    """2**k - 1 for the smallest k such that every operand is in -2**k .. 2**k - 1."""
    bits = 0
    for operand in operands:
        if operand.lo is None or operand.hi is None:
            return None
        bits = max(bits, _width(operand.lo), _width(operand.hi))
    return (1 << bits) - 1


def _width(value: int) -> int:
    return (value if value >= 0 else -1 - value).bit_length()


def _factors(amount: Interval) -> Interval | None:
    """The powers of two for a shift; None where they are too large to be of use."""
    if amount.lo is None or amount.lo < 0 or amount.hi is None or amount.hi > _MAX_SHIFT:
        return None
    return Interval(1 << amount.lo, 1 << amount.hi)


def _shl_range(ctx: Context, atom: Atom) -> Interval:
    value, amount = _arg_ranges(ctx, atom)
    factors = _factors(amount)
    if factors is not None:
        return value * factors
    return value * NON_NEGATIVE


def _shr_range(ctx: Context, atom: Atom) -> Interval:
    value, amount = _arg_ranges(ctx, atom)
    factors = _factors(amount)
    if factors is not None:
        return value.floor_div(factors)
    return value.hull(Interval(-1, 0))


ATOM_RANGES: dict[SymbolKind, Callable[[Context, Atom], Interval]] = {
    SymbolKind.FDIV: _fdiv_range,
    SymbolKind.TDIV: _tdiv_range,
    SymbolKind.MOD: _mod_range,
    SymbolKind.TREM: _trem_range,
    SymbolKind.MIN: _min_range,
    SymbolKind.MAX: _max_range,
    SymbolKind.INDICATOR: _indicator_range,
    SymbolKind.SELECT: _select_range,
    SymbolKind.AND: _and_range,
    SymbolKind.OR: _or_range,
    SymbolKind.XOR: _xor_range,
    SymbolKind.SHL: _shl_range,
    SymbolKind.SHR: _shr_range,
}
