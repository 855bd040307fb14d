"""Division of one polynomial by another, as far as it goes without a remainder in any term.

    divide(P, D) = (Q, R)   with   P = D*Q + R

Terms of P are taken out while the leading term of D (the largest monomial by degree, then by
atom ids) divides them. For an integer D this takes out, coefficient by coefficient, what is a
multiple of D, rounding towards zero: `divide(9*x + 20, 8)` is `(x + 2, x + 4)`. The result depends
on P and D only, never on how they were built.
"""

from __future__ import annotations

from tilewright.analysis.affine.poly import Monomial, Poly

# A dividend of 64 terms and a divisor of a few need far less; more means no end in sight.
_STEPS = 256


def _order(monomial: Monomial) -> tuple[int, Monomial]:
    return (len(monomial), monomial)


def quotient_of_monomials(dividend: Monomial, divisor: Monomial) -> Monomial | None:
    """The monomial that completes the divisor to the dividend, if there is one."""
    rest = list(dividend)
    for id in divisor:
        if id not in rest:
            return None
        rest.remove(id)
    return tuple(rest)


def truncated(dividend: int, divisor: int) -> int:
    """Integer quotient rounded towards zero."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def divide(dividend: Poly, divisor: Poly) -> tuple[Poly, Poly]:
    """(Q, R) with dividend = divisor*Q + R; the divisor must not be zero."""
    constant = divisor.constant
    if constant is not None:
        return _divide_by_integer(dividend, constant)
    space = dividend.space
    lead = max(divisor.terms, key=_order)
    lead_coefficient = divisor.terms[lead]
    quotient, remainder, left = space.zero, dict[Monomial, int](), dividend
    for _ in range(_STEPS):
        if not left.terms:
            return quotient, Poly(space, remainder)
        monomial = max(left.terms, key=_order)
        factor = quotient_of_monomials(monomial, lead)
        times = truncated(left.terms[monomial], lead_coefficient)
        if factor is None or not times:
            remainder[monomial] = left.terms[monomial]
            left = Poly(space, {m: c for m, c in left.terms.items() if m != monomial})
            continue
        step = Poly(space, {factor: times})
        quotient, left = quotient + step, left - step * divisor
        if left.terms.get(monomial):  # the part of the coefficient that is not a multiple
            remainder[monomial] = left.terms[monomial]
            left = Poly(space, {m: c for m, c in left.terms.items() if m != monomial})
    return space.zero, dividend


def _divide_by_integer(dividend: Poly, divisor: int) -> tuple[Poly, Poly]:
    if divisor == 0:
        raise ZeroDivisionError("division of a polynomial by zero")
    quotient = {m: truncated(c, divisor) for m, c in dividend.terms.items()}
    quotient = {m: c for m, c in quotient.items() if c}
    whole = Poly(dividend.space, quotient)
    return whole, dividend - whole * divisor
