"""Polynomials as a reader expects them: remainders and selections as atoms.

The ring form of a remainder is `X - D*fdiv(X, D)`, of a selection `Q + [F]*(P - Q)`. The view
looks for these patterns and puts `mod(X, D)`, `trem(X, D)` and `sel(F, P, Q)` back (rule S3 of
docs/design/address-analysis.md#rewrite-rules, read from right to left). Each term of the cofactor
of a quotient is turned on its own, and only if the sum gets shorter, or stays as long and the
remainder enters with a positive sign. The choice is made from the canonical ring form alone, so
equal values have equal views.

    4*x - 32*fdiv(x, 8)                     4*mod(x, 8)
    fdiv(x, 4) - 2*fdiv(x, 8)               mod(fdiv(x, 4), 2)
    8*fdiv(x, 2) - 24*fdiv(x, 6)            8*mod(fdiv(x, 2), 3)
    x + 4*fdiv(x, 4) - 32*fdiv(x, 16)       mod(x, 4) + 8*mod(fdiv(x, 4), 4)
    8*s*fdiv(x, 8) + mod(x, 8)              stays: another stride than the remainder's

A view is for reading: arithmetic on it is exact, but no longer canonical.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

from tilewright.analysis.affine.division import divide
from tilewright.analysis.affine.poly import Monomial, Poly
from tilewright.analysis.affine.symbols import Atom, SymbolKind

_REMAINDER_OF = {SymbolKind.FDIV: SymbolKind.MOD, SymbolKind.TDIV: SymbolKind.TREM}


def view_of(poly: Poly) -> Poly:
    return _with_selections(with_remainders(poly))


def with_remainders(poly: Poly) -> Poly:
    """The same value with `mod` and `trem` where they shorten it."""
    known = poly.space.remainder_views
    view = known.get(poly)
    if view is None:
        view = poly
        for atom in reversed(poly.atoms()):
            if atom.kind in _REMAINDER_OF:
                view = _rewrite_quotient(view, atom)
        known[poly] = view
    return view


def _rewrite_quotient(poly: Poly, quotient: Atom) -> Poly:
    for step, (inner, divisor) in _nested(poly, quotient):
        turned = _turned(poly, quotient, step, poly.space.of_atom(inner), divisor)
        if len(turned.terms) == len(poly.terms):
            turned = _rewrite_quotient(turned, inner)  # it may now be part of another remainder
        if len(turned.terms) < len(poly.terms):
            return turned
    cofactor, _, _ = poly.split(quotient)
    for step, (value, divisor) in _turnable(cofactor, quotient):
        turned = _turned(poly, quotient, step, value, divisor)
        gain = len(poly.terms) - len(turned.terms)
        negative = next(iter(step.terms.values())) < 0
        if gain > 0 or (gain == 0 and negative):
            poly = turned
    return poly


def _turned(poly: Poly, quotient: Atom, step: Poly, value: Poly, divisor: Poly) -> Poly:
    """`step*divisor*q` replaced by `step*(value - value mod divisor)`."""
    space = poly.space
    kind = _REMAINDER_OF[quotient.kind]
    dividend = value if kind is SymbolKind.TREM else reduced(value, divisor)
    remainder = space.derived(kind, (dividend, divisor))
    ((monomial, factor),) = step.terms.items()
    terms = poly.terms.copy()
    _add_product(terms, space.merge(monomial, (quotient.id,)), -factor, divisor)
    _add_product(terms, monomial, factor, value)
    _add_product(terms, space.merge(monomial, (remainder.id,)), -factor, space.one)
    return Poly(space, terms)


def _add_product(terms: dict[Monomial, int], monomial: Monomial, factor: int, poly: Poly) -> None:
    """Add `factor*monomial*poly` in place: most views that are tried are thrown away."""
    merge = poly.space.merge
    for other, coefficient in poly.terms.items():
        product = merge(monomial, other)
        total = terms.get(product, 0) + factor * coefficient
        if total:
            terms[product] = total
        else:
            terms.pop(product, None)


def reduced(value: Poly, divisor: Poly) -> Poly:
    """The value without multiples of the divisor (rule S2); a constant ends in [0, divisor)."""
    rest = divide(value, divisor)[1]
    constant = divisor.constant
    if constant is None or constant < 0:
        return rest
    return rest - rest.constant_term + rest.constant_term % constant


def _turnable(cofactor: Poly, quotient: Atom) -> Iterator[tuple[Poly, tuple[Poly, Poly]]]:
    """(step, (value, divisor)) such that `step*divisor` is part of the quotient's cofactor and
    `divisor*q = value - value mod divisor`."""
    value, divisor = quotient.args
    whole, rest = divide(cofactor, divisor)
    for monomial in sorted(whole.terms):
        step = Poly(cofactor.space, {monomial: whole.terms[monomial]})
        yield step, (value, divisor)
    constant = divisor.constant
    if constant is None or constant <= 1 or quotient.kind is not SymbolKind.FDIV:
        return
    for monomial in sorted(rest.terms):
        coefficient = rest.terms[monomial]
        common = gcd(coefficient, constant)
        if common == 1:
            continue
        # c*fdiv(P, a) = c*fdiv(fdiv(P, a/c), c) for c dividing a
        inner = cofactor.space.root.fdiv(value, constant // common)
        step = Poly(cofactor.space, {monomial: coefficient // common})
        yield step, (inner, cofactor.space.const(common))


def _nested(poly: Poly, quotient: Atom) -> Iterator[tuple[Poly, tuple[Atom, Poly]]]:
    """The same for `a*q = a*fdiv(fdiv(P, b), a/b)` with another quotient fdiv(P, b) of the sum."""
    value, divisor = quotient.args
    constant = divisor.constant
    coefficient = poly.terms.get((quotient.id,), 0)
    if constant is None or not coefficient or quotient.kind is not SymbolKind.FDIV:
        return
    for atom in poly.atoms():
        if atom is quotient or atom.kind is not SymbolKind.FDIV or atom.args[0] != value:
            continue
        inner = atom.args[1].constant
        if inner is None or not 1 < inner < constant or constant % inner:
            continue
        part = constant // inner
        if coefficient % part == 0:
            step = poly.space.const(coefficient // part)
            yield step, (atom, poly.space.const(part))


def _with_selections(poly: Poly) -> Poly:
    """`[F]*R` collected as `sel(F, R, 0)`, conditions made last outermost."""
    for atom in reversed(poly.atoms()):
        if atom.kind is not SymbolKind.INDICATOR:
            continue
        formula = atom.formula
        assert formula is not None
        chosen, rest, _ = poly.split(atom)
        if not chosen.terms:
            continue
        space = poly.space
        if chosen.constant is not None:
            factor, chosen = chosen, space.one
        else:
            factor = space.const(chosen.content)
            chosen = chosen.exact_quotient(chosen.content)
        selection = space.select_view(formula, chosen, space.zero)
        poly = rest + factor * space.of_atom(selection)
    return poly
