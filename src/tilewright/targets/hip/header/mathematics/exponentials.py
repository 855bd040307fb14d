"""Exponentials and hyperbolic functions.

    x = n log 2 + r, |r| <= log(2)/2        exp(x) = 2^n (1 + expm1(r))

`n log 2` is subtracted in two parts, the first exactly; what rounding takes from r is added to the
polynomial. Hyperbolic functions are computed from `expm1`, which keeps its digits near zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import factorial

from tilewright.targets.hip.header.mathematics.precision import Precision, Written
from tilewright.targets.hip.header.mathematics.series import economized, log_of_2

_REACH = Fraction(35, 100)
"""A little more than half of log 2."""


def _tail(precision: Precision) -> Mapping[str, Fraction | str]:
    # (exp(r) - 1 - r) / r**2, of which r**2 < 1/8 counts.
    coefficients = economized(
        lambda n: Fraction(1, factorial(n + 2)),
        _REACH,
        Fraction(1, 1 << (precision.bits + 3)),
        is_even=False,
    )
    return {"polynomial": precision.polynomial("p", "r", coefficients)}


def log_of_2_parts(precision: Precision) -> dict[str, Fraction | str]:
    """log 2 as a sum whose first part times an exponent is exact, and as a plain sum."""
    short, rest = precision.pair(log_of_2(), precision.bits - precision.exponent_bits - 1)
    high, low = precision.pair(log_of_2())
    return {
        "ln2_short": short,
        "ln2_rest": rest,
        "ln2_high": high,
        "ln2_low": low,
        "log2e": 1 / log_of_2(),
    }


def _limits(precision: Precision) -> Mapping[str, Fraction | str]:
    is_float = precision.suffix == "f"
    return {
        **log_of_2_parts(precision),
        # Beyond these the result is an infinity or zero, whatever the sum of exponents.
        "most": Fraction(200 if is_float else 1500),
        "one_below": Fraction(-20 if is_float else -40),
        "one_above": Fraction(10 if is_float else 20),
        "plain_above": Fraction(16 if is_float else 36),
    }


EXPONENTIALS: tuple[Written, ...] = (
    Written(
        "exp_tail",
        """
// expm1(r + low) for |r| < 0.35.
__device__ __forceinline__ REAL exp_tail@(REAL r, REAL low) {
#pragma clang fp contract(off)
$polynomial
  return r + __builtin_fma@(r * r, p, __builtin_fma@(low, r, low));
}""",
        constants=_tail,
        arguments=0,
    ),
    Written(
        "exp_reduced",
        """
// exp(x) = 2^power * (1 + the result).
__device__ __forceinline__ REAL exp_reduced@(REAL x, int& power) {
#pragma clang fp contract(off)
  const REAL n = __builtin_rint@(x * $log2e);
  power = int(n);
  const REAL high = __builtin_fma@(-n, $ln2_short, x);
  const REAL r = __builtin_fma@(-n, $ln2_rest, high);
  return exp_tail@(r, __builtin_fma@(-n, $ln2_rest, high - r));
}""",
        ("exp_tail",),
        log_of_2_parts,
        arguments=0,
    ),
    Written(
        "exp_scaled",
        """
// exp(x) * 2^shift.
__device__ __forceinline__ REAL exp_scaled@(REAL x, int shift) {
  if (x != x) return x;
  int power;
  const REAL limited = __builtin_fmax@(__builtin_fmin@(x, $most), -$most);
  const REAL rest = exp_reduced@(limited, power);
  return __builtin_ldexp@(1.0@ + rest, power + shift);
}""",
        ("exp_reduced",),
        _limits,
        arguments=0,
    ),
    Written(
        "expm1",
        """
__device__ __forceinline__ REAL expm1@(REAL x) {
#pragma clang fp contract(off)
  if (x != x || x == 0.0@) return x;
  if (x < $one_below) return -1.0@;
  int power;
  const REAL rest = exp_reduced@(__builtin_fmin@(x, $most), power);
  if (power == 0) return rest;
  const REAL half = __builtin_ldexp@(1.0@, power - 1);
  if (half - half != 0.0@) return half;
  return 2.0@ * __builtin_fma@(half, rest, half - 0.5@);
}""",
        ("exp_reduced",),
        _limits,
    ),
    Written(
        "sinh",
        """
__device__ __forceinline__ REAL sinh@(REAL x) {
#pragma clang fp contract(off)
  const REAL a = __builtin_fabs@(x);
  const REAL e = expm1@(a);
  const REAL y = a < $plain_above ? 0.5@ * (e + e / (e + 1.0@)) : exp_scaled@(a, -1);
  return __builtin_copysign@(y, x);
}""",
        ("expm1", "exp_scaled"),
        _limits,
    ),
    Written(
        "cosh",
        """
__device__ __forceinline__ REAL cosh@(REAL x) {
#pragma clang fp contract(off)
  const REAL half = exp_scaled@(__builtin_fabs@(x), -1);
  return half + 0.25@ / half;
}""",
        ("exp_scaled",),
    ),
    Written(
        "tanh",
        """
__device__ __forceinline__ REAL tanh@(REAL x) {
#pragma clang fp contract(off)
  const REAL a = __builtin_fabs@(x);
  const REAL e = expm1@(2.0@ * __builtin_fmin@(a, $one_above));
  const REAL y = a < 0.5@ ? e / (e + 2.0@) : 1.0@ - 2.0@ / (e + 2.0@);
  return a != a ? x : __builtin_copysign@(y, x);
}""",
        ("expm1",),
        _limits,
    ),
)

DOUBLE_EXPONENTIALS: tuple[Written, ...] = (
    Written(
        "exp",
        "__device__ __forceinline__ REAL exp@(REAL x) { return exp_scaled@(x, 0); }",
        ("exp_scaled",),
    ),
    Written(
        "exp2",
        """
__device__ __forceinline__ REAL exp2@(REAL x) {
#pragma clang fp contract(off)
  if (x != x) return x;
  const REAL limited = __builtin_fmax@(__builtin_fmin@(x, $most), -$most);
  const REAL n = __builtin_rint@(limited);
  const REAL part = limited - n;
  const REAL r = part * $ln2_high;
  const REAL low = __builtin_fma@(part, $ln2_low, __builtin_fma@(part, $ln2_high, -r));
  return __builtin_ldexp@(1.0@ + exp_tail@(r, low), int(n));
}""",
        ("exp_tail",),
        _limits,
    ),
)
"""`float` has instructions for these."""
