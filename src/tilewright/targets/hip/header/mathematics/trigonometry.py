"""Sine, cosine and tangent of any argument.

    x = n pi/2 + r, |r| <= pi/4

Up to some size `n pi/2` is subtracted in three parts, the first exactly. Beyond, the fraction of
x * 2/pi is computed with integers, from those bits of 2/pi that matter (Payne and Hanek). Both
give r as a sum of two, because it may be next to zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import factorial

from tilewright.targets.hip.header.mathematics.precision import Precision, Written
from tilewright.targets.hip.header.mathematics.series import economized, pi

_EXACT_BITS: Mapping[str, int] = {"float": 10, "double": 20}
"""Bits of n up to which n times the first part of pi/2 is exact."""
_ZEROS = 2
"""Words of zeros before those of 2/pi: arguments may have fractions."""
_WORDS: Mapping[str, tuple[int, int]] = {"float": (4, 8), "double": (7, 38)}
"""Words of 2/pi that one reduction takes, and all that are needed."""
_UNIT = Fraction(1, 1 << 62)


def _reduction(precision: Precision) -> Mapping[str, Fraction | str]:
    bits = _EXACT_BITS[precision.type]
    quarter = pi() / 2
    first = precision.rounded(quarter, precision.bits - bits)
    second, third = precision.pair(quarter - first)
    return {
        "two_over_pi": 2 / pi(),
        "first": first,
        "second": second,
        "third": third,
        "limit": Fraction((1 << bits) * 3, 2),
    }


def _large(precision: Precision) -> Mapping[str, Fraction | str]:
    taken, count = _WORDS[precision.type]
    bits = 32 * count
    words = int(2 / pi(bits + 64) * (1 << bits))
    listed = [0] * _ZEROS + [words >> (bits - 32 * (n + 1)) & 0xFFFFFFFF for n in range(count)]
    rows = [listed[n : n + 6] for n in range(0, len(listed), 6)]
    high, low = precision.pair(pi() / 2 * _UNIT)
    return {
        "words": ",\n    ".join(", ".join(f"0x{each:08x}u" for each in row) for row in rows),
        "count": str(len(listed)),
        "taken": str(taken),
        "quarter_high": high,
        "quarter_low": low,
        "second_word": str(_ZEROS),
    }


def _kernels(precision: Precision) -> Mapping[str, Fraction | str]:
    reach = Fraction(62, 100)  # (pi/4)**2, and a little
    sine = economized(
        lambda n: Fraction((-1) ** (n + 1), factorial(2 * n + 3)),
        reach,
        Fraction(1, 1 << (precision.bits + 2)),
        is_even=True,
    )
    cosine = economized(
        lambda n: Fraction((-1) ** n, factorial(2 * n + 4)),
        reach,
        Fraction(1, 1 << (precision.bits + 3)),
        is_even=True,
    )
    return {
        "sine": precision.polynomial("p", "z", sine),
        "cosine": precision.polynomial("p", "z", cosine),
    }


_LARGE_FLOAT = """
__device__ constexpr unsigned two_over_pi@[] = {
    $words};

__device__ __forceinline__ int trig_reduce_large@(float x, float& r, float& low) {
#pragma clang fp contract(off)
  const unsigned bits = bits_as<unsigned>(x);
  const int power = int(bits >> 23 & 255) - 150;  // |x| = mantissa * 2^power
  const unsigned long long mantissa = (bits & 0x7fffff) | 0x800000;
  const int skipped = (power - 2) >> 5;  // earlier words give multiples of 4
  unsigned digits[$taken];
  unsigned long long carry = 0;
#pragma unroll
  for (int n = $taken - 1; n >= 0; --n) {
    carry += mantissa * two_over_pi@[skipped + n + $second_word];
    digits[n] = unsigned(carry);
    carry >>= 32;
  }
  const int shift = (power - 2) & 31;
  unsigned long long high = (unsigned long long)digits[0] << 32 | digits[1];
  const unsigned long long rest = (unsigned long long)digits[2] << 32 | digits[3];
  high = shift ? high << shift | rest >> (64 - shift) : high;
  int quadrant = int(high >> 62);
  high = high << 2 | (rest << shift) >> 62;
  quadrant += int(high >> 63);
  const long long fraction = (long long)high >> 2;
  const float top = float(fraction), bottom = float(fraction - (long long)top);
  r = top * $quarter_high;
  low = __builtin_fmaf(top, $quarter_high, -r) + (top * $quarter_low + bottom * $quarter_high);
  if (x < 0.0f) r = -r, low = -low, quadrant = -quadrant;
  return quadrant;
}"""

_LARGE_DOUBLE = """
__device__ constexpr unsigned two_over_pi@[] = {
    $words};

__device__ __forceinline__ int trig_reduce_large@(double x, double& r, double& low) {
#pragma clang fp contract(off)
  const unsigned long long bits = bits_as<unsigned long long>(x);
  const int power = int(bits >> 52 & 2047) - 1075;  // |x| = mantissa * 2^power
  const unsigned long long mantissa = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
  const unsigned long long first = mantissa & 0xffffffffu, second = mantissa >> 32;
  const int skipped = (power - 2) >> 5;  // earlier words give multiples of 4
  unsigned digits[$taken];
  unsigned long long carry = 0, above = 0;
  unsigned before = 0;
#pragma unroll
  for (int n = $taken - 1; n >= 0; --n) {
    const unsigned word = two_over_pi@[skipped + n + $second_word];
    carry += first * word;
    above += second * before + unsigned(carry);
    digits[n] = unsigned(above);
    carry >>= 32;
    above >>= 32;
    before = word;
  }
  const int shift = (power - 2) & 31;
  unsigned long long limbs[3];
#pragma unroll
  for (int n = 0; n < 3; ++n)
    limbs[n] = (unsigned long long)digits[2 * n] << 32 | digits[2 * n + 1];
  if (shift) {
    limbs[0] = limbs[0] << shift | limbs[1] >> (64 - shift);
    limbs[1] = limbs[1] << shift | limbs[2] >> (64 - shift);
  }
  int quadrant = int(limbs[0] >> 62);
  const unsigned long long high = limbs[0] << 2 | limbs[1] >> 62, rest = limbs[1] << 2;
  quadrant += int(high >> 63);
  const long long fraction = (long long)high >> 2;
  const unsigned long long below = high << 62 | rest >> 2;
  const double top = double(fraction);
  const double bottom = double(fraction - (long long)top) + double(below) * 0x1p-64;
  const double sum = top + bottom, sum_low = (top - sum) + bottom;
  r = sum * $quarter_high;
  low = __builtin_fma(sum, $quarter_high, -r) + (sum * $quarter_low + sum_low * $quarter_high);
  if (x < 0.0) r = -r, low = -low, quadrant = -quadrant;
  return quadrant;
}"""

LARGE: Mapping[str, Written] = {
    "float": Written("trig_reduce_large", _LARGE_FLOAT, ("=bits_as",), _large, arguments=0),
    "double": Written("trig_reduce_large", _LARGE_DOUBLE, ("=bits_as",), _large, arguments=0),
}

_CALL = """
__device__ __forceinline__ REAL {name}@(REAL x) {{
  if (x - x != 0.0@) return x - x;{tiny}
  REAL r, low;
  const int quadrant = trig_reduce@(x, r, low){shift};
{result}
}}"""
_ONE_OF = """  const REAL y = quadrant & 1 ? cos_kernel@(r, low) : sin_kernel@(r, low);
  return quadrant & 2 ? -y : y;"""
_QUOTIENT = """  const REAL s = sin_kernel@(r, low), c = cos_kernel@(r, low);
  return quadrant & 1 ? -c / s : s / c;"""
_ITSELF = """
  if (__builtin_fabs@(x) < 0x1p-28@) return x;"""
_PARTS = ("trig_reduce", "sin_kernel", "cos_kernel")

TRIGONOMETRY: tuple[Written, ...] = (
    Written(
        "trig_reduce",
        """
// x = quadrant * pi/2 + r + low.
__device__ __forceinline__ int trig_reduce@(REAL x, REAL& r, REAL& low) {
#pragma clang fp contract(off)
  if (__builtin_fabs@(x) > $limit) return trig_reduce_large@(x, r, low);
  const REAL n = __builtin_rint@(x * $two_over_pi);
  const REAL high = __builtin_fma@(-n, $first, x);
  const REAL part = n * $second, part_low = __builtin_fma@(n, $second, -part);
  const REAL rest = high - part;
  const REAL back = rest - high;
  const REAL lost = (high - (rest - back)) - (part + back);
  const REAL tail = lost - __builtin_fma@(n, $third, part_low);
  r = rest + tail;
  low = (rest - r) + tail;
  return int(n);
}""",
        ("trig_reduce_large",),
        _reduction,
        arguments=0,
    ),
    Written(
        "sin_kernel",
        """
__device__ __forceinline__ REAL sin_kernel@(REAL r, REAL low) {
#pragma clang fp contract(off)
  const REAL z = r * r;
$sine
  return r + __builtin_fma@(r * z, p, __builtin_fma@(-0.5@ * z, low, low));
}""",
        constants=_kernels,
        arguments=0,
    ),
    Written(
        "cos_kernel",
        """
__device__ __forceinline__ REAL cos_kernel@(REAL r, REAL low) {
#pragma clang fp contract(off)
  const REAL z = r * r;
$cosine
  const REAL half = 0.5@ * z, w = 1.0@ - half;
  return w + (((1.0@ - w) - half) + __builtin_fma@(z * z, p, -r * low));
}""",
        constants=_kernels,
        arguments=0,
    ),
    Written("sin", _CALL.format(name="sin", shift="", tiny=_ITSELF, result=_ONE_OF), _PARTS),
    Written("cos", _CALL.format(name="cos", shift=" + 1", tiny="", result=_ONE_OF), _PARTS),
    Written("tan", _CALL.format(name="tan", shift="", tiny=_ITSELF, result=_QUOTIENT), _PARTS),
)
