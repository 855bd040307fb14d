"""Integer arithmetic where NumPy's own differs from the IR's.

Integers of the IR have no sign; the op determines how it reads them. Arrays hold them as signed
NumPy integers, and unsigned ops look at the same bits. Addition, multiplication and bit operations
wrap around in both worlds and need no help. Shifts by the width or more give 0, or copies of the
sign bit for `shrsi`: NumPy and NVIDIA's hardware agree on that.

Division truncates (C), NumPy's rounds down (Python). Division by zero has no meaning: using such a
quotient is reported (`ops/arith/integer.py`), but not in an address. What comes out here leads far
out of bounds there, by whatever stride it is multiplied, while the hardware's results (-1, and the
dividend for a remainder) could well be the offset of an element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright.targets.numpy.support.select import where

_UNSIGNED: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_DOUBLE: dict[int, Any] = {1: np.uint16, 2: np.uint32, 4: np.uint64}
_FAR: dict[int, int] = {1: -0x55, 2: -0x5555, 4: -0x55555555, 8: -0x5555555555}
_MASK32 = np.uint64(0xFFFFFFFF)
_SHIFT32 = np.uint64(32)


def unsigned(x: Any) -> Any:
    """The same bits as unsigned integers."""
    return x.view(_UNSIGNED[x.dtype.itemsize])


def _has_zero(x: Any) -> bool:
    return not x.all()


def _unless_by_zero(result: Any, divisor: Any) -> Any:
    """A quotient or remainder; a number far off where there is none."""
    if not _has_zero(divisor):
        return result
    return where(divisor == 0, result.dtype.type(_FAR[result.dtype.itemsize]), result)[()]


def divsi(a: Any, b: Any) -> Any:
    """The signed quotient, truncated."""
    if b.ndim == 0 and b > 0 and a.size and a.min() >= 0:
        return a // b  # one pass; rounding down and truncating agree
    return _unless_by_zero((a - np.fmod(a, b)) // b, b)


def remsi(a: Any, b: Any) -> Any:
    """The remainder of the truncated quotient; it has the sign of the dividend."""
    if b.ndim == 0 and b > 0 and a.size and a.min() >= 0:
        return a - a // b * b  # dividing by one number is vectorised, remainders are not
    return _unless_by_zero(np.fmod(a, b), b)


def divui(a: Any, b: Any) -> Any:
    """The unsigned quotient."""
    return _unless_by_zero((unsigned(a) // unsigned(b)).view(a.dtype), b)


def remui(a: Any, b: Any) -> Any:
    """The unsigned remainder."""
    return _unless_by_zero((unsigned(a) % unsigned(b)).view(a.dtype), b)


def ceildivsi(a: Any, b: Any) -> Any:
    """The signed quotient, rounded up."""
    quotient = a // b
    return _unless_by_zero(quotient + (quotient * b != a).astype(a.dtype), b)


def floordivsi(a: Any, b: Any) -> Any:
    """The signed quotient, rounded down."""
    return _unless_by_zero(a // b, b)


def ceildivui(a: Any, b: Any) -> Any:
    """The unsigned quotient, rounded up."""
    quotient = divui(a, b)
    return quotient + (remui(a, b) != 0).astype(a.dtype)


def shrui(a: Any, b: Any) -> Any:
    """Shifted to the right, zeros coming in."""
    return (unsigned(a) >> unsigned(b)).view(a.dtype)


def maxui(a: Any, b: Any) -> Any:
    """The greater of two unsigned numbers."""
    return np.maximum(unsigned(a), unsigned(b)).view(a.dtype)


def minui(a: Any, b: Any) -> Any:
    """The lesser of two unsigned numbers."""
    return np.minimum(unsigned(a), unsigned(b)).view(a.dtype)


def mulhiui(a: Any, b: Any) -> Any:
    """The upper half of the unsigned multiplication."""
    x, y = unsigned(a), unsigned(b)
    if a.dtype.itemsize == 8:
        return _mulhi64(x, y).view(a.dtype)
    wide = _DOUBLE[a.dtype.itemsize]
    bits = wide(8 * a.dtype.itemsize)
    return ((x.astype(wide) * y.astype(wide)) >> bits).astype(x.dtype).view(a.dtype)


def _mulhi64(x: Any, y: Any) -> Any:
    """By halves of 32 bits, as on paper: no partial sum exceeds 64 bits."""
    x0, x1 = x & _MASK32, x >> _SHIFT32
    y0, y1 = y & _MASK32, y >> _SHIFT32
    middle = x1 * y0 + ((x0 * y0) >> _SHIFT32)
    carry = (middle & _MASK32) + x0 * y1
    return x1 * y1 + (middle >> _SHIFT32) + (carry >> _SHIFT32)


def mulhisi(a: Any, b: Any) -> Any:
    """The upper half of the signed multiplication."""
    zero = a.dtype.type(0)
    correction = where(a < 0, b, zero) + where(b < 0, a, zero)
    return mulhiui(a, b) - correction


def ctpop(x: Any) -> Any:
    """How many bits are set."""
    return np.bitwise_count(unsigned(x)).astype(x.dtype)


def ctlz(x: Any) -> Any:
    """How many zeros stand before the first set bit; the width for 0."""
    bits = unsigned(x)
    step = 1
    while step < 8 * x.dtype.itemsize:  # set every bit below the first one
        bits = bits | (bits >> bits.dtype.type(step))
        step *= 2
    return (8 * x.dtype.itemsize - np.bitwise_count(bits).astype(np.int64)).astype(x.dtype)


def cttz(x: Any) -> Any:
    """The number of trailing zeros; the width for 0."""
    bits = unsigned(x)
    one = bits.dtype.type(1)
    return np.bitwise_count(~bits & (bits - one)).astype(x.dtype)


def ipowi(base: Any, exponent: Any) -> Any:
    """An integer power by repeated squaring; a negative exponent gives 1/base, truncated."""
    one = base.dtype.type(1)
    left = where(exponent < 0, exponent.dtype.type(0), exponent)
    result = np.broadcast_to(one, np.broadcast_shapes(base.shape, exponent.shape))
    square = base
    while left.any():
        result = where(left & 1, result * square, result)
        square, left = square * square, left >> 1
    inverse = divsi(np.broadcast_to(one, base.shape), base)
    sign = where(exponent & 1, inverse, inverse * inverse)
    return where(exponent < 0, sign, result)


def less_unsigned(a: Any, b: Any) -> Any:
    """Whether the first of two unsigned numbers is the lesser."""
    return unsigned(a) < unsigned(b)


def arange(start: int, end: int) -> Any:
    """The numbers from `start` up to `end` as the tensor of one program."""
    return np.arange(start, end, dtype=np.int32)[None]
