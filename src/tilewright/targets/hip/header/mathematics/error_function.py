"""The error function.

    |x| < 1:   x + x P(x^2), of the Taylor series
    beyond:    1 - exp(-x^2) Q(t),  t = (x - 2) / (x + 2),  Q = erfc(x) exp(x^2)

Q is smooth; it is interpolated, where erfc still counts beside 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import cos, factorial
from math import pi as double_pi

from tilewright.targets.hip.header.mathematics.precision import Precision, Written
from tilewright.targets.hip.header.mathematics.series import (
    economized,
    exponential,
    interpolated,
    pi,
    square_root,
)

_CENTRE = 2
_BITS = 256
_ENDS: Mapping[str, int] = {"float": 4, "double": 6}
_POINTS: Mapping[str, int] = {"float": 9, "double": 21}


def _scaled_complement(x: Fraction) -> Fraction:
    """``erfc(x) * exp(x**2)``, by the series of erf, which has no cancellation in this form."""
    # erf(x) exp(x^2) = 2/sqrt(pi) * sum of 2^n x^(2n+1) / (2n+1)!!
    term, factor = (int(each * (1 << _BITS)) for each in (x, 2 * x * x))
    total, odd = 0, 1
    while term:
        total += term
        odd += 2
        term = (term * factor >> _BITS) // odd
    return exponential(x * x) - Fraction(2 * total, 1 << _BITS) / square_root(pi())


def _constants(precision: Precision) -> Mapping[str, Fraction | str]:
    near = economized(
        lambda n: (
            Fraction((-1) ** n, factorial(n) * (2 * n + 1)) * 2 / square_root(pi()) - (n == 0)
        ),
        Fraction(1),
        Fraction(1, 1 << (precision.bits + 1)),
        is_even=True,
    )
    end, count = _ENDS[precision.type], _POINTS[precision.type]
    low, high = (Fraction(x - _CENTRE, x + _CENTRE) for x in (1, end))
    points = [
        (low + high) / 2
        + (high - low)
        / 2
        * Fraction(round(cos(double_pi * (2 * n + 1) / (2 * count)) * 2**40), 2**40)
        for n in range(count)
    ]
    far = interpolated(points, [_scaled_complement(_CENTRE * (1 + t) / (1 - t)) for t in points])
    return {
        "near": precision.polynomial("p", "z", near),
        "far": precision.polynomial("q", "t", far),
        "end": Fraction(end),
    }


ERROR_FUNCTION: tuple[Written, ...] = (
    Written(
        "erf",
        """
__device__ __forceinline__ REAL erf@(REAL x) {
#pragma clang fp contract(off)
  const REAL a = __builtin_fabs@(x);
  const REAL z = x * x;
$near
  if (!(a >= 1.0@)) return __builtin_fma@(x, p, x);
  const REAL b = __builtin_fmin@(a, $end);
  const REAL t = (b - 2.0@) / (b + 2.0@);
$far
  const REAL y = a < $end ? __builtin_fma@(-exp_scaled@(-b * b, 0), q, 1.0@) : 1.0@;
  return __builtin_copysign@(y, x);
}""",
        ("exp_scaled",),
        _constants,
    ),
)
