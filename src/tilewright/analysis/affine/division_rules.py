"""Rules for quotients: S1, S4, S7. Remainders need none of their own (see `simplify`)."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import TYPE_CHECKING

from tilewright.analysis.affine.division import divide, quotient_of_monomials
from tilewright.analysis.affine.poly import Monomial, Poly
from tilewright.analysis.affine.rule import Operands, Proposal, Rule
from tilewright.analysis.affine.symbols import SymbolKind

if TYPE_CHECKING:
    from tilewright.analysis.affine.context import Context


def _floor_by_constant(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """fdiv(P, 1) = P; a negative constant divisor changes sides; by zero as in `arithmetic`."""
    value, divisor = operands[0], operands[1].constant
    if divisor == 0:
        yield Proposal(lambda: ctx.space.zero)
    elif divisor == 1:
        yield Proposal(lambda: value)
    elif divisor is not None and divisor < 0:
        yield Proposal(lambda: ctx.fdiv(-value, -divisor))


def take_out(value: Poly, divisor: Poly) -> tuple[Poly, Poly]:
    """(Q, R) with value = divisor*Q + R, the constant of R in [0, divisor) for an integer."""
    quotient, rest = divide(value, divisor)
    constant = divisor.constant
    if constant is not None and constant > 0:
        low = rest.constant_term % constant
        quotient += (rest.constant_term - low) // constant
        rest += low - rest.constant_term
    return quotient, rest


def _floor_multiples(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S1: fdiv(D*P + Q, D) = P + fdiv(Q, D) for any D other than 0."""
    value, divisor = operands
    quotient, rest = take_out(value, divisor)
    if quotient.terms:
        yield Proposal(lambda: quotient + ctx.fdiv(rest, divisor))


def _floor_small(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S1: fdiv(Q, D) = k where k*D <= Q < (k + 1)*D."""
    value, divisor = operands
    for k in _candidate_quotients(ctx, value, divisor):
        low = value - divisor * k
        yield Proposal(lambda k=k: ctx.space.const(k), (low, divisor - low - 1))


def _candidate_quotients(ctx: Context, value: Poly, divisor: Poly) -> list[int]:
    constant, known = divisor.constant, ctx.range(value)
    if constant is None:
        return [0, -1]
    if constant <= 0:
        return []
    if known.lo is not None and known.hi is not None:
        return [known.lo // constant]
    return [0] if known.lo is None else [known.lo // constant]


def _floor_common_factor(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """fdiv(g*A + k, g*D) = fdiv(A + floor(k/g), D); D must be positive unless g divides k."""
    value, divisor = operands
    constant = value.constant_term
    common = gcd((value - constant).content, divisor.content)
    if common <= 1:
        return
    needs = (divisor - 1,) if constant % common else ()

    def result() -> Poly:
        scaled = (value - constant).exact_quotient(common) + constant // common
        return ctx.fdiv(scaled, divisor.exact_quotient(common))

    yield Proposal(result, needs)


def _floor_common_atoms(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """fdiv(A*s, D*s) = fdiv(A, D): s is not zero, or the divisor would be."""
    value, divisor = operands
    if not value.terms or divisor.constant is not None:
        return
    shared = common_monomial((*value.terms, *divisor.terms))
    if shared:
        yield Proposal(lambda: ctx.fdiv(_without(value, shared), _without(divisor, shared)))


def common_monomial(monomials: tuple[Monomial, ...]) -> Monomial:
    """The largest monomial that divides all of them."""
    shared = list(monomials[0])
    for monomial in monomials[1:]:
        left, remaining = list(monomial), list[int]()
        for id in shared:
            if id in left:
                left.remove(id)
                remaining.append(id)
        shared = remaining
    return tuple(shared)


def _without(poly: Poly, factor: Monomial) -> Poly:
    terms: dict[Monomial, int] = {}
    for monomial, coefficient in poly.terms.items():
        rest = quotient_of_monomials(monomial, factor)
        assert rest is not None
        terms[rest] = coefficient
    return Poly(poly.space, terms)


def _floor_low_part(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S1: fdiv(H + L, g*D) = fdiv(H + k*g, g*D) where g divides H, k*g <= L < (k + 1)*g, D > 0.

    What remains is a multiple of g, so the common factor goes next.
    """
    value, divisor = operands
    content = divisor.content
    divides = {m: _divisor_of_term(ctx, m, c) for m, c in value.terms.items() if m}
    for g in sorted({gcd(d, content) for d in divides.values()} | {content}, reverse=True):
        high = Poly(ctx.space, {m: value.terms[m] for m, d in divides.items() if d % g == 0})
        high += value.constant_term // g * g
        low = value - high
        lo = ctx.range(low).lo
        if g == 1 or not low.terms or lo is None:
            continue
        k = lo // g
        needs = (low - k * g, -low + (k * g + g - 1), divisor - 1)
        yield Proposal(lambda high=high, step=k * g: ctx.fdiv(high + step, divisor), needs)


def _divisor_of_term(ctx: Context, monomial: Monomial, coefficient: int) -> int:
    return ctx.congruence(Poly(ctx.space, {monomial: coefficient})).divisor


def _floor_of_floor(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S4: fdiv(fdiv(P, a) + k, b) = fdiv(P + k*a, a*b) for positive a and b."""
    value, divisor = operands
    constant = value.constant_term
    inner = value - constant
    atom = inner.atom
    if (
        atom is None
        or atom.kind is not SymbolKind.FDIV
        or inner.content != 1
        or inner.terms[(atom.id,)] < 0
    ):
        return
    dividend, first = atom.args
    yield Proposal(
        lambda: ctx.fdiv(dividend + first * constant, first * divisor), (first - 1, divisor - 1)
    )


def _trunc_by_constant(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    value, divisor = operands[0], operands[1].constant
    if divisor == 0:
        yield Proposal(lambda: ctx.space.zero)
    elif divisor == 1:
        yield Proposal(lambda: value)
    elif divisor is not None and divisor < 0:
        yield Proposal(lambda: -ctx.tdiv(value, -divisor))


def _trunc_exact(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """tdiv(D*P, D) = P."""
    value, divisor = operands
    quotient, rest = divide(value, divisor)
    if not rest.terms:
        yield Proposal(lambda: quotient)


def _trunc_as_floor(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """S7, and its mirror images for operands known to be negative."""
    value, divisor = operands
    yield Proposal(lambda: ctx.fdiv(value, divisor), (value, divisor - 1))
    yield Proposal(lambda: -ctx.fdiv(-value, divisor), (-value, divisor - 1))
    if divisor.constant is None:
        yield Proposal(lambda: -ctx.fdiv(value, -divisor), (value, -divisor - 1))
        yield Proposal(lambda: ctx.fdiv(-value, -divisor), (-value, -divisor - 1))


def _trunc_small(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """tdiv(P, D) = 0 where -D < P < D."""
    value, divisor = operands
    yield Proposal(lambda: ctx.space.zero, (divisor - value - 1, divisor + value - 1))


def _trunc_common_factor(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """tdiv(g*A, g*D) = tdiv(A, D)."""
    value, divisor = operands
    common = gcd(value.content, divisor.content)
    if common > 1:
        yield Proposal(
            lambda: ctx.tdiv(value.exact_quotient(common), divisor.exact_quotient(common))
        )


def _trunc_sign(ctx: Context, operands: Operands) -> Iterator[Proposal]:
    """tdiv(-P, D) = -tdiv(P, D): one spelling for both."""
    value, divisor = operands
    if value.sign < 0:
        yield Proposal(lambda: -ctx.tdiv(-value, divisor))


FLOOR_RULES = (
    Rule("fdiv by a constant", _floor_by_constant),
    Rule("S1 multiples", _floor_multiples),
    Rule("S1 small", _floor_small),
    Rule("fdiv common factor", _floor_common_factor),
    Rule("fdiv common atoms", _floor_common_atoms),
    Rule("S1 low part", _floor_low_part),
    Rule("S4", _floor_of_floor),
)

TRUNC_RULES = (
    Rule("tdiv by a constant", _trunc_by_constant),
    Rule("tdiv exact", _trunc_exact),
    Rule("S7", _trunc_as_floor),
    Rule("tdiv small", _trunc_small),
    Rule("tdiv common factor", _trunc_common_factor),
    Rule("tdiv sign", _trunc_sign),
)
