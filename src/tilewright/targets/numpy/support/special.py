"""Functions that NumPy lacks: the error function and its relatives.

`erf` and `erfc` follow W. J. Cody, "Rational Chebyshev Approximation for the Error Function",
Mathematics of Computation 23 (1969): three ranges, each a ratio of polynomials, good to the last
bits of double precision. Narrower types are computed in double precision and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tilewright.targets.numpy.support.select import where

_INVERSE_SQRT_PI = 0.5641895835477562869

# |x| <= 0.46875: erf(x) = x P(x^2) / Q(x^2)
_SMALL = (
    (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2,
     3.20937758913846947e3),
    (1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3,
     2.84423683343917062e3),
)  # fmt: skip
# 0.46875 < x <= 4: erfc(x) = exp(-x^2) P(x) / Q(x)
_MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3),
    (1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2,
     1.62138957456669019e3, 3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3,
     1.23033935480374942e3),
)  # fmt: skip
# x > 4: erfc(x) = exp(-x^2) / x (1/sqrt(pi) - y P(y) / Q(y)), y = 1/x^2
_LARGE = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1,
     1.25781726111229246e-1, 1.60837851487422766e-2, 6.58749161529837803e-4),
    (1.0, 2.56852019228982242, 1.87295284992346047, 5.27905102951428412e-1,
     6.05183413124413191e-2, 2.33520497626869185e-3),
)  # fmt: skip

_Coefficients = tuple[tuple[float, ...], tuple[float, ...]]


def _ratio(coefficients: _Coefficients, x: Any) -> Any:
    top, bottom = coefficients
    return _polynomial(top, x) / _polynomial(bottom, x)


def _polynomial(coefficients: tuple[float, ...], x: Any) -> Any:
    result: Any = coefficients[0]
    for coefficient in coefficients[1:]:
        result = result * x + coefficient
    return result


def _erf_small(x: Any) -> Any:
    return x * _ratio(_SMALL, x * x)


def _exp_minus_square(x: Any) -> Any:
    """exp(-x^2), with x^2 in two parts so that its rounding error is not blown up."""
    head = np.trunc(x * 16) / 16
    return np.exp(-head * head) * np.exp(-(x - head) * (x + head))


def _erfc_positive(x: Any) -> Any:
    """erfc of x > 0.46875."""
    y = 1 / (x * x)
    far = (_INVERSE_SQRT_PI - y * _ratio(_LARGE, y)) / x
    near = _ratio(_MIDDLE, np.minimum(x, 4.0))
    return _exp_minus_square(np.minimum(x, 30.0)) * where(x > 4, far, near)


def _erf64(x: Any) -> Any:
    size = np.abs(x)
    rest = 1 - _erfc_positive(np.maximum(size, 0.46875))
    return where(size <= 0.46875, _erf_small(x), np.copysign(rest, x))


def _erfc64(x: Any) -> Any:
    size = np.abs(x)
    tail = _erfc_positive(np.maximum(size, 0.46875))
    return where(size <= 0.46875, 1 - _erf_small(x), where(x < 0, 2 - tail, tail))


def _in_double(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def rounded(x: Any) -> Any:
        return np.asarray(function(x.astype(np.float64))).astype(x.dtype)[()]

    rounded.__doc__ = f"{function.__name__.strip('_64')} of each element."
    return rounded


def powf(a: Any, b: Any) -> Any:
    """A power of floats.

    NumPy computes x**2, x**0.5 and some others in another way where one exponent is used for all
    elements, which an array of one element looks like. The result must not depend on how many
    programs run at once, so such an array is given a second element.
    """
    if a.ndim and b.ndim and a.size == b.size == 1:
        return np.power(np.append(a, a), np.append(b, b))[:1].reshape(a.shape)
    return np.power(a, b)


erf = _in_double(_erf64)
erfc = _in_double(_erfc64)
