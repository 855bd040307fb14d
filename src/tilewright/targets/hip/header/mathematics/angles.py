"""Inverse trigonometric functions.

`atan` moves its argument to |t| <= tan(pi/8), by the angles pi/4 and pi/2; `asin` and `acos` take
the root of (1 - x)/2 beyond 1/2. Constants are sums of two, so that their rounding does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import comb

from tilewright.targets.hip.header.mathematics.precision import Precision, Written
from tilewright.targets.hip.header.mathematics.series import economized, pi


def _constants(precision: Precision) -> dict[str, Fraction | str]:
    found: dict[str, Fraction | str] = {}
    for name, value in (("pi", pi()), ("half_pi", pi() / 2), ("quarter_pi", pi() / 4)):
        high, low = precision.pair(value)
        found[f"{name}_high"], found[f"{name}_low"] = high, low
    return found


def _atan(precision: Precision) -> Mapping[str, Fraction | str]:
    coefficients = economized(
        lambda n: Fraction((-1) ** (n + 1), 2 * n + 3),
        Fraction(172, 1000),
        Fraction(1, 1 << (precision.bits + 1)),
        is_even=True,
    )
    return {**_constants(precision), "polynomial": precision.polynomial("p", "z", coefficients)}


def _asin(precision: Precision) -> Mapping[str, Fraction | str]:
    coefficients = economized(
        lambda n: Fraction(comb(2 * n + 2, n + 1), 4 ** (n + 1) * (2 * n + 3)),
        Fraction(1, 4),
        Fraction(1, 1 << (precision.bits + 1)),
        is_even=True,
    )
    return {**_constants(precision), "polynomial": precision.polynomial("p", "z", coefficients)}


_ROOT = """
  // The root of z, and what rounding took from it.
  const REAL s = __builtin_sqrt@(z);
  const REAL s_low = s > 0.0@ ? __builtin_fma@(-s, s, z) / (2.0@ * s) : 0.0@;
  const REAL w = __builtin_fma@(s * z, asin_tail@(z), s_low);"""

ANGLES: tuple[Written, ...] = (
    Written(
        "atan_positive",
        """
// atan(a) for a >= 0.
__device__ __forceinline__ REAL atan_positive@(REAL a) {
#pragma clang fp contract(off)
  REAL t = a, base = 0.0@, base_low = 0.0@;
  if (a > 2.4142135@) {
    t = -1.0@ / a;
    base = $half_pi_high;
    base_low = $half_pi_low;
  } else if (a > 0.41421357@) {
    t = (a - 1.0@) / (a + 1.0@);
    base = $quarter_pi_high;
    base_low = $quarter_pi_low;
  }
  const REAL z = t * t;
$polynomial
  return base + (t + __builtin_fma@(t * z, p, base_low));
}""",
        constants=_atan,
        arguments=0,
    ),
    Written(
        "atan",
        "__device__ __forceinline__ REAL atan@(REAL x) {\n"
        "  return __builtin_copysign@(atan_positive@(__builtin_fabs@(x)), x);\n}",
        ("atan_positive",),
    ),
    Written(
        "atan2",
        """
__device__ __forceinline__ REAL atan2@(REAL y, REAL x) {
#pragma clang fp contract(off)
  if (x != x || y != y) return x + y;
  REAL a = __builtin_fabs@(y), b = __builtin_fabs@(x);
  const bool is_steep = a > b;
  REAL small = is_steep ? b : a, large = is_steep ? a : b;
  if (small - small != 0.0@) small = large = 1.0@;  // both are infinities
  REAL angle = atan_positive@(large == 0.0@ ? 0.0@ : small / large);
  if (is_steep) angle = $half_pi_high - (angle - $half_pi_low);
  if (__builtin_copysign@(1.0@, x) < 0.0@) angle = $pi_high - (angle - $pi_low);
  return __builtin_copysign@(angle, y);
}""",
        ("atan_positive",),
        _constants,
        arguments=2,
    ),
    Written(
        "asin_tail",
        """
// (asin(x) - x) / x^3, z = x^2 <= 1/4.
__device__ __forceinline__ REAL asin_tail@(REAL z) {
$polynomial
  return p;
}""",
        constants=_asin,
        arguments=0,
    ),
    Written(
        "asin",
        f"""
__device__ __forceinline__ REAL asin@(REAL x) {{
#pragma clang fp contract(off)
  const REAL a = __builtin_fabs@(x);
  if (a <= 0.5@) return __builtin_fma@(x * (x * x), asin_tail@(x * x), x);
  const REAL z = 0.5@ * (1.0@ - a);{_ROOT}
  const REAL y = ($half_pi_high - 2.0@ * s) - (2.0@ * w - $half_pi_low);
  return __builtin_copysign@(y, x);
}}""",
        ("asin_tail",),
        _constants,
    ),
    Written(
        "acos",
        f"""
__device__ __forceinline__ REAL acos@(REAL x) {{
#pragma clang fp contract(off)
  const REAL a = __builtin_fabs@(x);
  if (a <= 0.5@) {{
    const REAL tail = x * (x * x) * asin_tail@(x * x);
    return $half_pi_high - (x - ($half_pi_low - tail));
  }}
  const REAL z = 0.5@ * (1.0@ - a);{_ROOT}
  return x > 0.0@ ? 2.0@ * (s + w) : $pi_high - (2.0@ * (s + w) - $pi_low);
}}""",
        ("asin_tail",),
        _constants,
    ),
)
