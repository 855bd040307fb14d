"""Powers and cube roots.

    pow(x, y) = 2^(y log2(x))

A relative error of log2(x) is multiplied by the exponent of the result: the logarithm and y
times it are sums of two each.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from tilewright.targets.hip.header.mathematics.exponentials import log_of_2_parts
from tilewright.targets.hip.header.mathematics.precision import Precision, Written
from tilewright.targets.hip.header.mathematics.series import economized, log_of_2


def _power(precision: Precision) -> Mapping[str, Fraction | str]:
    # atanh(t)/t = 1 + z (1/3 + z P(z)), z = t**2
    coefficients = economized(
        lambda n: Fraction(1, 2 * n + 5),
        Fraction(295, 10_000),
        Fraction(1, 1 << (precision.bits - 1)),
        is_even=True,
    )
    third, third_rest = precision.pair(Fraction(1, 3))
    scale, scale_rest = precision.pair(2 / log_of_2())
    return {
        **log_of_2_parts(precision),
        "polynomial": precision.polynomial("p", "z", coefficients),
        "third_high": third,
        "third_low": third_rest,
        "scale_high": scale,
        "scale_low": scale_rest,
        "most": Fraction(200 if precision.suffix == "f" else 1500),
        "infinity": f"__builtin_inf{precision.suffix}()",
        "nan": f'__builtin_nan{precision.suffix}("")',
    }


POWERS: tuple[Written, ...] = (
    Written(
        "pow_positive",
        """
// x^y for a positive finite x and a finite y.
__device__ __forceinline__ REAL pow_positive@(REAL x, REAL y) {
#pragma clang fp contract(off)
  int power;
  const REAL n = log_reduced@(x, power), m = n + 1.0@, e = REAL(power);
  // t = (m - 1) / (m + 1), z = t^2, as sums of two.
  const REAL d = m + 1.0@, d_low = m - (d - 1.0@);
  const REAL t = n / d, t_low = (__builtin_fma@(-t, d, n) - t * d_low) / d;
  const REAL z = t * t, z_low = __builtin_fma@(t, t, -z) + 2.0@ * t * t_low;
$polynomial
  // u = 1/3 + z p, v = z u, w = t v: log(m) = 2 (t + w).
  const REAL zp = z * p;
  const REAL u = $third_high + zp, u_low = (($third_high - u) + zp) + $third_low;
  const REAL v = z * u, v_low = __builtin_fma@(z, u, -v) + (z * u_low + z_low * u);
  const REAL w = t * v, w_low = __builtin_fma@(t, v, -w) + (t * v_low + t_low * v);
  const REAL h = t + w, h_low = ((t - h) + w) + (w_low + t_low);
  const REAL part = h * $scale_high;
  const REAL part_low =
      __builtin_fma@(h, $scale_high, -part) + (h * $scale_low + h_low * $scale_high);
  const REAL sum = e + part, sum_low = ((e - sum) + part) + part_low;
  const REAL log = sum + sum_low, log_low = (sum - log) + sum_low;
  const REAL exponent = y * log;
  if (!(__builtin_fabs@(exponent) < $most)) return exponent > 0.0@ ? $infinity : 0.0@;
  const REAL exponent_low = __builtin_fma@(y, log, -exponent) + y * log_low;
  const REAL whole = __builtin_rint@(exponent), fraction = exponent - whole;
  const REAL first = fraction * $ln2_high;
  const REAL second = __builtin_fma@(fraction, $ln2_high, -first)
      + __builtin_fma@(fraction, $ln2_low, exponent_low * $ln2_high);
  const REAL r = first + second;
  return __builtin_ldexp@(1.0@ + exp_tail@(r, (first - r) + second), int(whole));
}""",
        ("log_reduced", "exp_tail"),
        _power,
        arguments=0,
    ),
    Written(
        "pow",
        """
__device__ __forceinline__ REAL pow@(REAL x, REAL y) {
  if (y == 0.0@ || x == 1.0@) return 1.0@;
  if (x != x || y != y) return x + y;
  const REAL a = __builtin_fabs@(x);
  if (y - y != 0.0@) {  // an infinity
    if (a == 1.0@) return 1.0@;
    return (a > 1.0@) == (y > 0.0@) ? $infinity : 0.0@;
  }
  const REAL half = 0.5@ * y;
  const bool is_whole = __builtin_rint@(y) == y;
  const bool is_odd = is_whole && __builtin_rint@(half) != half;
  REAL result;
  if (a == 0.0@ || a - a != 0.0@) result = (a == 0.0@) == (y < 0.0@) ? $infinity : 0.0@;
  else if (x < 0.0@ && !is_whole) return $nan;
  else result = pow_positive@(a, y);
  return is_odd ? __builtin_copysign@(result, x) : result;
}""",
        ("pow_positive",),
        _power,
        arguments=2,
    ),
    Written(
        "cbrt",
        """
__device__ __forceinline__ REAL cbrt@(REAL x) {
#pragma clang fp contract(off)
  if (x == 0.0@ || x - x != 0.0@) return x;
  int power;
  REAL m = __builtin_frexp@(__builtin_fabs@(x), &power);
  const int third = (power + 3000) / 3 - 1000;
  m = __builtin_ldexp@(m, power - 3 * third);  // 1/2 <= m < 4
  REAL y = __builtin_fma@(__builtin_fma@(-0.0412@, m, 0.4245@), m, 0.6008@);
#pragma unroll
  for (int step = 0; step < $steps; ++step) {
    const REAL cube = y * y * y;
    y = y * (cube + 2.0@ * m) / (2.0@ * cube + m);
  }
  // y^3 - m to twice the digits.
  const REAL square = y * y, square_low = __builtin_fma@(y, y, -square);
  const REAL excess = __builtin_fma@(square, y, -m) + square_low * y;
  y = y - excess / (3.0@ * square);
  return __builtin_copysign@(__builtin_ldexp@(y, third), x);
}""",
        constants=lambda precision: {"steps": "2" if precision.suffix == "f" else "3"},
    ),
)
