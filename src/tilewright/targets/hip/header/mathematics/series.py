"""Coefficients of polynomials, from exact series: Taylor's, shortened by Chebyshev polynomials.

Numbers are integers scaled by 2**256. A series is cut where it is far below the precision; then
multiples of the Chebyshev polynomial of the highest degree are subtracted, degree by degree, as
long as the sum of what that changes stays below the tolerance (economization).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

_SCALE = 256


def _fixed(value: Fraction) -> int:
    return (value.numerator << _SCALE) // value.denominator


@cache
def _chebyshev(degree: int, *, is_shifted: bool) -> tuple[int, ...]:
    """Coefficients of T_n on [-1, 1], or of T_n(2 u - 1) on [0, 1], lowest first."""
    step = (-2, 4) if is_shifted else (0, 2)
    before, current = [1], [step[0] // 2, step[1] // 2]
    if degree == 0:
        return tuple(before)
    for _ in range(degree - 1):
        following = [0] * (len(current) + 1)
        for index, value in enumerate(current):
            following[index] += step[0] * value
            following[index + 1] += step[1] * value
        for index, value in enumerate(before):
            following[index] -= value
        before, current = current, following
    return tuple(current)


def economized(
    term: Callable[[int], Fraction], radius: Fraction, tolerance: Fraction, *, is_even: bool
) -> list[Fraction]:
    """A polynomial near the sum of ``term(n) * x**n``, off by less than `tolerance`.

    On [0, radius] if the variable is a square (`is_even`), else on [-radius, radius].
    """
    scaled: list[int] = []
    power = Fraction(1)
    while True:
        value = _fixed(term(len(scaled)) * power)
        scaled.append(value)
        if len(scaled) > 8 and abs(value) < _fixed(tolerance) >> 24:
            break
        power *= radius
    changed, limit = 0, _fixed(tolerance)
    while len(scaled) > 1:
        degree = len(scaled) - 1
        polynomial = _chebyshev(degree, is_shifted=is_even)
        factor = scaled[-1] / Fraction(polynomial[-1])
        changed += abs(int(factor))
        if changed > limit:
            break
        whole = round(factor)
        scaled = [a - whole * b for a, b in zip(scaled[:-1], polynomial, strict=False)]
    return [Fraction(value, 1 << _SCALE) / radius**index for index, value in enumerate(scaled)]


def interpolated(points: Sequence[Fraction], values: Sequence[Fraction]) -> list[Fraction]:
    """Coefficients, lowest first, of the polynomial through some points (Newton's form)."""
    differences = [_fixed(each) for each in values]
    for level in range(1, len(points)):
        for index in range(len(points) - 1, level - 1, -1):
            gap = points[index] - points[index - level]
            change = differences[index] - differences[index - 1]
            differences[index] = change * gap.denominator // gap.numerator
    found = [differences[-1]]
    for index in range(len(points) - 2, -1, -1):
        point = _fixed(points[index])
        shifted = [0, *found]
        for power, value in enumerate(found):
            shifted[power] -= value * point >> _SCALE
        shifted[0] += differences[index]
        found = shifted
    return [Fraction(value, 1 << _SCALE) for value in found]


# -- constants ---------------------------------------------------------------------------------


def _inverse_series(divisor: int, bits: int, *, alternates: bool) -> int:
    """``atan(1 / divisor)``, or ``atanh``, scaled by 2**bits."""
    power = (1 << bits) // divisor
    total, odd, sign = power, 1, 1
    while power:
        power //= divisor * divisor
        odd += 2
        sign = -sign if alternates else 1
        total += sign * (power // odd)
    return total


@cache
def pi(bits: int = _SCALE) -> Fraction:
    """Machin's formula."""
    guarded = bits + 32
    fifth = _inverse_series(5, guarded, alternates=True)
    rest = _inverse_series(239, guarded, alternates=True)
    return Fraction(4 * (4 * fifth - rest), 1 << guarded)


@cache
def log_of_2() -> Fraction:
    """``2 atanh(1/3)``."""
    return Fraction(2 * _inverse_series(3, _SCALE + 32, alternates=False), 1 << (_SCALE + 32))


@cache
def log_of_10() -> Fraction:
    """``3 log 2 + 2 atanh(1/9)``: 10 is 8 * 10/8."""
    ninth = Fraction(_inverse_series(9, _SCALE + 32, alternates=False), 1 << (_SCALE + 32))
    return 3 * log_of_2() + 2 * ninth


def exponential(value: Fraction) -> Fraction:
    """``exp(value)`` to about 200 bits."""
    scaled, term, count = _fixed(value), 1 << _SCALE, 0
    total = term
    while term:
        count += 1
        term = (term * scaled >> _SCALE) // count
        if term == -1:
            break
        total += term
    return Fraction(total, 1 << _SCALE)


def square_root(value: Fraction) -> Fraction:
    """To about 200 bits."""
    from math import isqrt

    return Fraction(isqrt(value.numerator << (2 * _SCALE)), 1) / Fraction(
        isqrt(value.denominator << (2 * _SCALE)), 1
    )
