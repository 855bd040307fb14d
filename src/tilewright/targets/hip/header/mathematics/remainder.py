"""The remainder of a division, exactly: long division of the mantissas, some bits at a time."""

from __future__ import annotations

from tilewright.targets.hip.header.mathematics.precision import Precision, Written


def _constants(precision: Precision) -> dict[str, str]:
    fraction = precision.bits - 1
    return {
        "integer": precision.integer,
        "fraction": str(fraction),
        "exponents": str((1 << precision.exponent_bits) - 1),
        "offset": str((1 << (precision.exponent_bits - 1)) - 1 + fraction),
        # A remainder times 2^step fits 64 bits.
        "step": str(64 - precision.bits),
    }


REMAINDER: tuple[Written, ...] = (
    Written(
        "fmod",
        """
__device__ __forceinline__ REAL fmod@(REAL x, REAL y) {
  const REAL a = __builtin_fabs@(x), b = __builtin_fabs@(y);
  if (x - x != 0.0@ || y != y || y == 0.0@) return (x - x) / (x - x);
  if (a < b) return x;
  const $integer bits = bits_as<$integer>(a), other = bits_as<$integer>(b);
  constexpr $integer one = ($integer)1 << $fraction;
  int power = int(bits >> $fraction), least = int(other >> $fraction);
  // A denormal has no leading one, and the exponent of the smallest normal value.
  unsigned long long rest = power ? bits % one | one : bits;
  const unsigned long long divisor = least ? other % one | one : other;
  power = power ? power : 1;
  least = least ? least : 1;
  rest %= divisor;
  for (int left = power - least; left > 0 && rest; left -= $step)
    rest = (rest << (left < $step ? left : $step)) % divisor;
  return __builtin_copysign@(__builtin_ldexp@(REAL(rest), least - $offset), x);
}""",
        ("=bits_as",),
        _constants,
        arguments=2,
    ),
)
