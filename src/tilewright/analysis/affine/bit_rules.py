"""Rules for bits and shifts: S8. Integers are two's complement of any length.

A mask that is one run of ones picks a digit: `and(P, (2**j - 1) * 2**k)` is
`2**k * mod(fdiv(P, 2**k), 2**j)`. Operands that share no possibly-set bit add up. And where
P = H + L with 2**K dividing H, and L and Q both in 0 .. 2**K - 1, only the low part is combined
with Q.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tilewright.analysis.affine.poly import Monomial, Poly
from tilewright.analysis.affine.rule import Operands, Proposal, Rule
from tilewright.analysis.affine.symbols import SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context

# A shift further than this is no integer any program computes.
MAX_SHIFT = 512


def _constant_last(operands: Operands) -> tuple[Poly, Poly, int | None]:
    """(P, Q, constant of Q): a constant operand, if any, second."""
    left, right = operands
    if left.constant is not None:
        left, right = right, left
    return left, right, right.constant


def possible_bits(ctx: Context, poly: Poly) -> int:
    """A mask of the bits that may be set; negative if infinitely many may."""
    whole = _bits_of_sum(ctx, poly)
    if len(poly.terms) < 2:
        return whole
    together = 0
    for monomial, coefficient in poly.terms.items():
        bits = _bits_of_sum(ctx, Poly(ctx.space, {monomial: coefficient}))
        if bits & together:
            return whole
        together |= bits
    return whole & together


def _bits_of_sum(ctx: Context, poly: Poly) -> int:
    known, congruence = ctx.range(poly), ctx.congruence(poly)
    if congruence.constant is not None:
        return congruence.constant
    if known.lo is not None and known.lo >= 0 and known.hi is not None:
        bits = (1 << known.hi.bit_length()) - 1
    else:
        bits = -1
    low = (congruence.m & -congruence.m) - 1
    return (bits & ~low) | (congruence.r & low)


def mask_run(mask: int) -> tuple[int, int] | None:
    """(k, j) if the mask is j ones above k zeros."""
    if mask <= 0:
        return None
    shift = (mask & -mask).bit_length() - 1
    ones = mask >> shift
    return (shift, ones.bit_length()) if ones & (ones + 1) == 0 else None


def _and_constant(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S8: a mask of one run of ones, or of all ones but one run."""
    value, _, mask = _constant_last(operands)
    if mask is None:
        return
    if mask == 0:
        yield Proposal(lambda: ctx.space.zero)
    elif mask == -1:
        yield Proposal(lambda: value)
    elif mask_run(mask) is not None:
        yield Proposal(lambda: _digit(ctx, value, mask))
    elif mask_run(~mask) is not None:
        yield Proposal(lambda: value - _digit(ctx, value, ~mask))


def _digit(ctx: Context, value: Poly, mask: int) -> Poly:
    run = mask_run(mask)
    assert run is not None
    shift, width = run
    return ctx.mod(ctx.fdiv(value, 1 << shift), 1 << width) * (1 << shift)


def _and_same(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    if operands[0] == operands[1]:
        yield Proposal(lambda: operands[0])


def _and_disjoint(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    yield Proposal(lambda: ctx.space.zero, given=_are_disjoint(ctx, operands))


def _and_covering(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S8: a mask that has every bit the value may have changes nothing."""
    value, _, mask = _constant_last(operands)
    if mask is not None:
        yield Proposal(lambda: value, given=not possible_bits(ctx, value) & ~mask)


def _are_disjoint(ctx: Context, operands: Operands) -> bool:
    return not possible_bits(ctx, operands[0]) & possible_bits(ctx, operands[1])


def _sum_if_disjoint(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S8: `or` and `xor` of values without a common bit are sums."""
    yield Proposal(lambda: operands[0] + operands[1], given=_are_disjoint(ctx, operands))


def _or_constant(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    value, right, mask = _constant_last(operands)
    if mask == 0:
        yield Proposal(lambda: value)
    elif mask == -1 or value == right:
        yield Proposal(lambda: right)


def _xor_constant(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    value, right, mask = _constant_last(operands)
    if value == right:
        yield Proposal(lambda: ctx.space.zero)
    elif mask == 0:
        yield Proposal(lambda: value)
    elif mask is not None and mask < 0:
        yield Proposal(lambda: -ctx.bit_xor(value, -1 - mask) - 1)


def _xor_twice(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """xor(xor(P, c), d) = xor(P, c xor d)."""
    value, _, mask = _constant_last(operands)
    atom = value.atom
    if (
        mask is None
        or atom is None
        or atom.kind is not SymbolKind.XOR
        or value.terms[(atom.id,)] != 1
    ):
        return
    inner, _, first = _constant_last(atom.args)
    if first is not None:
        yield Proposal(lambda: ctx.bit_xor(inner, first ^ mask))


def _low_part_rule(
    combine: Callable[[Context, Poly, Poly, Poly], Poly],
) -> Callable[[Context, Operands], Iterator[Proposal]]:
    """S8 for P = H + L: the operation on L and Q, and what becomes of H."""

    def propose(ctx: Context, operands: Operands) -> Iterator[Proposal]:
        left, right = operands
        for value, other in ((left, right), (right, left)):
            for high, low, limit in _low_parts(ctx, value):
                needs = (low, -low + (limit - 1), other, -other + (limit - 1))
                yield Proposal(
                    lambda high=high, low=low, other=other: combine(ctx, high, low, other), needs
                )

    return propose


def _low_parts(ctx: Context, value: Poly) -> Iterator[tuple[Poly, Poly, int]]:
    """(H, L, 2**K) with value = H + L, H other than 0 and 2**K dividing each of its terms."""
    powers = {m: _power_of_two(ctx, m, c) for m, c in value.terms.items() if m}
    for limit in sorted(set(powers.values())):
        if limit == 1:
            continue
        constant = value.constant_term
        high_terms: dict[Monomial, int] = {
            m: c for m, c in value.terms.items() if m and powers[m] >= limit
        }
        high = Poly(ctx.space, high_terms) + (constant - constant % limit)
        if high.terms:
            yield high, value - high, limit


def _power_of_two(ctx: Context, monomial: Monomial, coefficient: int) -> int:
    divisor = ctx.congruence(Poly(ctx.space, {monomial: coefficient})).divisor
    return min(divisor & -divisor, 1 << MAX_SHIFT) if divisor else 1 << MAX_SHIFT


def _shift_amount(ctx: Context, amount: Poly) -> int | None:
    constant = ctx.range(amount).constant
    return constant if constant is not None and 0 <= constant <= MAX_SHIFT else None


def _shl_constant(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S8: a product with a power of two."""
    amount = _shift_amount(ctx, operands[1])
    if amount is not None:
        yield Proposal(lambda: operands[0] * (1 << amount))


def _shr_constant(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S8: floor division by a power of two."""
    amount = _shift_amount(ctx, operands[1])
    if amount is not None:
        yield Proposal(lambda: ctx.fdiv(operands[0], 1 << amount))


def _of_zero(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    if operands[0].constant == 0:
        yield Proposal(lambda: ctx.space.zero)


AND_RULES = (
    Rule("S8 mask", _and_constant),
    Rule("and of equals", _and_same),
    Rule("S8 disjoint and", _and_disjoint),
    Rule("S8 covering mask", _and_covering),
    Rule("S8 low part of and", _low_part_rule(lambda ctx, high, low, q: ctx.bit_and(low, q))),
)

OR_RULES = (
    Rule("or with a constant", _or_constant),
    Rule("S8 disjoint or", _sum_if_disjoint),
    Rule("S8 low part of or", _low_part_rule(lambda ctx, high, low, q: high + ctx.bit_or(low, q))),
)

XOR_RULES = (
    Rule("xor with a constant", _xor_constant),
    Rule("S8 disjoint xor", _sum_if_disjoint),
    Rule(
        "S8 low part of xor", _low_part_rule(lambda ctx, high, low, q: high + ctx.bit_xor(low, q))
    ),
    Rule("xor twice", _xor_twice),
)

SHL_RULES = (Rule("shift of zero", _of_zero), Rule("S8 shl", _shl_constant))
SHR_RULES = (Rule("shift of zero", _of_zero), Rule("S8 shr", _shr_constant))
