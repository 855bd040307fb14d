"""Logarithms and the inverse hyperbolic functions.

    x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2)        s = f / (2 + f)
    log(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + R)),   R = 2 s^2/3 + 2 s^4/5 + ...

f is exact, so that no digits are lost near 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tilewright.targets.hip.header.mathematics.exponentials import log_of_2_parts
from tilewright.targets.hip.header.mathematics.precision import Precision, Written
from tilewright.targets.hip.header.mathematics.series import economized, log_of_2, log_of_10


def _tail(precision: Precision) -> Mapping[str, Fraction | str]:
    coefficients = economized(
        lambda n: Fraction(2, 2 * n + 3),
        Fraction(295, 10_000),
        Fraction(1, 1 << (precision.bits - 1)),
        is_even=True,
    )
    return {"polynomial": precision.polynomial("p", "z", coefficients)}


def _constants(precision: Precision) -> Mapping[str, Fraction | str]:
    inverse, inverse_rest = precision.pair(1 / log_of_2())
    tenth, tenth_rest = precision.pair(1 / log_of_10())
    short, rest = precision.pair(
        log_of_2() / log_of_10(), precision.bits - precision.exponent_bits - 1
    )
    is_float = precision.suffix == "f"
    return {
        **log_of_2_parts(precision),
        "log2e_high": inverse,
        "log2e_low": inverse_rest,
        "log10e_high": tenth,
        "log10e_low": tenth_rest,
        "log10of2_short": short,
        "log10of2_rest": rest,
        "ln2": log_of_2(),
        "tiny": Fraction(1, 1 << (14 if is_float else 28)),
        "huge": Fraction(1 << (14 if is_float else 28)),
        "infinity": f"__builtin_inf{precision.suffix}()",
        "nan": f'__builtin_nan{precision.suffix}("")',
    }


_EDGES = """  if (x != x || x - x != 0.0@) return x < 0.0@ ? $nan : x;
  if (!(x > 0.0@)) return x == 0.0@ ? -$infinity : $nan;
"""

LOGARITHMS: tuple[Written, ...] = (
    Written(
        "log_tail",
        """
// f - log(1 + f) for sqrt(1/2) <= 1 + f < sqrt(2).
__device__ __forceinline__ REAL log_tail@(REAL f) {
#pragma clang fp contract(off)
  const REAL s = f / (2.0@ + f);
  const REAL z = s * s;
$polynomial
  const REAL half = 0.5@ * f * f;
  return half - s * __builtin_fma@(p, z, half);
}""",
        constants=_tail,
        arguments=0,
    ),
    Written(
        "log_reduced",
        """
// x = 2^power * (1 + the result), for a positive finite x.
__device__ __forceinline__ REAL log_reduced@(REAL x, int& power) {
  REAL mantissa = __builtin_frexp@(x, &power);
  if (mantissa < 0.70710678@) {
    mantissa *= 2.0@;
    --power;
  }
  return mantissa - 1.0@;
}""",
        arguments=0,
    ),
    Written(
        "log1p",
        """
__device__ __forceinline__ REAL log1p@(REAL x) {
#pragma clang fp contract(off)
  if (!(x > -1.0@)) return x == -1.0@ ? -$infinity : $nan;
  if (x - x != 0.0@ || x == 0.0@) return x;
  int power = 0;
  REAL f = x, correction = 0.0@;
  if (x < -0.29@ || x > 0.41@) {
    const REAL sum = 1.0@ + x;
    // What rounding took from the sum.
    correction = (x > 1.0@ ? 1.0@ - (sum - x) : x - (sum - 1.0@)) / sum;
    f = log_reduced@(sum, power);
  }
  const REAL n = REAL(power);
  const REAL low = __builtin_fma@(n, $ln2_rest, correction);
  return __builtin_fma@(n, $ln2_short, f - (log_tail@(f) - low));
}""",
        ("log_tail", "log_reduced"),
        _constants,
    ),
    Written(
        "asinh",
        """
__device__ __forceinline__ REAL asinh@(REAL x) {
#pragma clang fp contract(off)
  const REAL a = __builtin_fabs@(x);
  if (!(a > $tiny)) return x;
  REAL y;
  if (a > $huge) y = log@(a) + $ln2;
  else y = log1p@(a + a * a / (1.0@ + __builtin_sqrt@(__builtin_fma@(a, a, 1.0@))));
  return __builtin_copysign@(y, x);
}""",
        ("log", "log1p"),
        _constants,
    ),
    Written(
        "acosh",
        """
__device__ __forceinline__ REAL acosh@(REAL x) {
#pragma clang fp contract(off)
  if (!(x >= 1.0@)) return $nan;
  if (x > $huge) return log@(x) + $ln2;
  const REAL t = x - 1.0@;
  return log1p@(t + __builtin_sqrt@(__builtin_fma@(t, t, 2.0@ * t)));
}""",
        ("log", "log1p"),
        _constants,
    ),
    Written(
        "atanh",
        """
__device__ __forceinline__ REAL atanh@(REAL x) {
#pragma clang fp contract(off)
  const REAL a = __builtin_fabs@(x);
  if (!(a > $tiny)) return x;
  const REAL t = 2.0@ * a;
  const REAL y = 0.5@ * log1p@(a < 0.5@ ? t + t * a / (1.0@ - a) : t / (1.0@ - a));
  return __builtin_copysign@(y, x);
}""",
        ("log1p",),
        _constants,
    ),
)

DOUBLE_LOGARITHMS: tuple[Written, ...] = (
    Written(
        "log",
        f"""
__device__ __forceinline__ REAL log@(REAL x) {{
#pragma clang fp contract(off)
{_EDGES}  int power;
  const REAL f = log_reduced@(x, power);
  const REAL n = REAL(power);
  return __builtin_fma@(n, $ln2_short, f - (log_tail@(f) - n * $ln2_rest));
}}""",
        ("log_tail", "log_reduced"),
        _constants,
    ),
    Written(
        "log2",
        f"""
__device__ __forceinline__ REAL log2@(REAL x) {{
#pragma clang fp contract(off)
{_EDGES}  int power;
  const REAL f = log_reduced@(x, power), tail = log_tail@(f);
  const REAL high = f - tail, low = (f - high) - tail;
  const REAL part = high * $log2e_high;
  const REAL rest = __builtin_fma@(high, $log2e_high, -part)
      + __builtin_fma@(high, $log2e_low, low * $log2e_high);
  const REAL n = REAL(power), sum = n + part;
  return sum + (((n - sum) + part) + rest);
}}""",
        ("log_tail", "log_reduced"),
        _constants,
    ),
    Written(
        "log10",
        f"""
__device__ __forceinline__ REAL log10@(REAL x) {{
#pragma clang fp contract(off)
{_EDGES}  int power;
  const REAL f = log_reduced@(x, power), tail = log_tail@(f);
  const REAL high = f - tail, low = (f - high) - tail;
  const REAL part = high * $log10e_high;
  const REAL rest = __builtin_fma@(high, $log10e_high, -part)
      + __builtin_fma@(high, $log10e_low, low * $log10e_high);
  const REAL n = REAL(power) * $log10of2_short, sum = n + part;
  return sum + (((n - sum) + part) + __builtin_fma@(REAL(power), $log10of2_rest, rest));
}}""",
        ("log_tail", "log_reduced"),
        _constants,
    ),
)
"""`float` has instructions for these."""
