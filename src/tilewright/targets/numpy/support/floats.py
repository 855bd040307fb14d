"""Conversions between number formats, rounded once and as the IR specifies.

NumPy and `ml_dtypes` round to nearest even, but not always in one step: a double reaches `bf16`
through `float`, and two roundings can differ from one. Where that can happen the first step here
*rounds to odd*: it truncates and sets the last bit if anything was lost, which keeps enough for
the second step to round as if it were the first (Boldo and Melquiond, "Emulation of a FMA and
correctly rounded sums", 2008).

Half precision is converted by integer arithmetic on whole arrays, some times faster than the
element-wise loop of `astype`; the results are the same bits.

Too large a number becomes the greatest finite one in the 8-bit formats (`cvt.satfinite`), and an
infinity elsewhere. Cutting off makes nothing infinite, and keeps what is.

Floats become integers as PTX `cvt.rzi` makes them: out of range, the nearest integer of the type
that `cvt` converts to; see `_nan_as` for NaN. That type is not always the result's. Triton converts
to 16 bits for a result of 8 (`fptosi`, `fptoui`), C++ for CUDA to 32 bits for 8 and 16
(`cast_signed`, `cast_unsigned`), and both keep the low bits: 300.0 is 44 as int8, 1e9 is -1 for
Triton and 0 for C++.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.targets.numpy.support.select import where

_SMALL = 2048
"""Elements below which `astype` is faster than several vectorised passes."""

_SINGLES = (np.dtype(np.float32), np.dtype(np.float64))
_HALF = np.dtype(np.float16)
_FP8E5 = np.dtype(ml_dtypes.float8_e5m2)
"""The 8-bit format that has infinities."""
_FINFO: Callable[[Any], Any] = ml_dtypes.finfo
_BITS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_SIGNED: dict[int, Any] = {1: np.int16, 2: np.int16, 4: np.int32, 8: np.int64}
_UNSIGNED: dict[int, Any] = {1: np.uint16, 2: np.uint16, 4: np.uint32, 8: np.uint64}
"""What floats become first on their way to integers of so many bytes, in PTX made by Triton."""
_CXX_BYTES = 4
"""The least integer that C++ for CUDA converts to; narrower ones are its low bits."""

_HALF_BITS = np.int32(-0x70002000)  # 0x8fffe000: sign and magnitude of a half in a single
_HALF_SCALE = np.float32(2.0**112)
_EXPONENT = np.int32(0x7F800000)
_THIRTEEN = np.int32(13)
_THIRTEEN_UP = np.int32(13 << 23)
_MIN_MAGIC = np.int32(0x3F000000)  # 0.5, whose last place is the least half
_MAGIC_BIAS = np.int32(126 << 10)
_SIGN = np.int32(0x8000)
_SIXTEEN = np.int32(16)
_HALF_LIMIT = np.float32(65520.0)


def to_single(x: Any) -> Any:
    """`x` in single precision; doubles stay."""
    dtype = x.dtype
    if dtype in _SINGLES:
        return x
    if dtype != _HALF or x.size < _SMALL:
        return x.astype(np.float32)
    wide = x.view(np.int16).astype(np.int32)
    wide <<= _THIRTEEN
    wide &= _HALF_BITS
    single = wide.view(np.float32)
    single *= _HALF_SCALE
    if not (single.max() < 65536 and single.min() > -65536):
        return x.astype(np.float32)  # infinities and NaNs
    return single


def _single_to_half(x: Any) -> Any:
    """Adding 2**(e+13) to a number with exponent e leaves 11 bits, rounded to nearest even."""
    size = np.abs(x)
    if not size.max() < _HALF_LIMIT:
        return x.astype(np.float16)  # infinities and NaNs
    magic = size.view(np.int32) & _EXPONENT
    magic += _THIRTEEN_UP
    np.maximum(magic, _MIN_MAGIC, out=magic)
    size += magic.view(np.float32)
    bits = size.view(np.int32)
    bits -= magic
    magic >>= _THIRTEEN
    bits += magic
    bits -= _MAGIC_BIAS
    sign = x.view(np.int32) >> _SIXTEEN
    sign &= _SIGN
    bits |= sign
    return bits.astype(np.uint16).view(np.float16)


def narrow(x: Any, scalar: Any) -> Any:
    """`x` rounded to nearest even in the float type `scalar`."""
    dtype = np.dtype(scalar)
    if dtype == _HALF:
        is_quick = x.dtype == np.float32 and x.size >= _SMALL
        return _single_to_half(x) if is_quick else x.astype(dtype)
    if dtype in _SINGLES:
        return x.astype(dtype)
    if x.dtype == np.float64:
        x = _odd_single(x)
    return x.astype(dtype) if dtype.itemsize > 1 else _saturated(x, dtype)


def _saturated(x: Any, dtype: np.dtype[Any]) -> Any:
    limit = np.float32(_FINFO(dtype).max)
    return np.clip(x.astype(np.float32), -limit, limit).astype(dtype)


def _toward_zero(rounded: Any, exact: Any) -> Any:
    """Bits of `rounded`, one less where it is farther from zero than `exact`."""
    bits = rounded.view(_BITS[rounded.dtype.itemsize])
    too_far = np.abs(rounded.astype(np.float64)) > np.abs(exact)
    return bits - too_far.astype(bits.dtype)


def _odd_single(x: Any) -> Any:
    """A double as a single, rounded to odd."""
    rounded = x.astype(np.float32)
    inexact = rounded.astype(np.float64) != x
    bits = _toward_zero(rounded, x) | (inexact & (x == x)).astype(np.uint32)
    return bits.view(np.float32)


def narrow_rtz(x: Any, scalar: Any) -> Any:
    """`x` in the float type `scalar`, what does not fit cut off."""
    rounded = np.asarray(narrow(x, scalar))
    cut = _toward_zero(rounded, x).view(rounded.dtype)
    if rounded.dtype == _FP8E5:
        cut = where(np.isinf(x), x.astype(rounded.dtype), cut)
    return cut[()]


def int_to_float(x: Any, scalar: Any) -> Any:
    """Integers (signed or not, by their dtype) in a float type, to nearest even."""
    dtype = np.dtype(scalar)
    if dtype in _SINGLES or dtype == _HALF:
        return x.astype(dtype)
    wide = x.astype(np.float64)
    if x.dtype.itemsize == 8:
        # Rounded to odd as well: 53 bits of the number, the last one set if more were.
        lost = (x & x.dtype.type(0x3FF)) != 0
        odd = ((x >> x.dtype.type(10)) | lost.astype(x.dtype)).astype(np.float64) * 1024.0
        wide = where(np.abs(wide) < 2.0**53, wide, odd)
    return narrow(wide, scalar)


def fptosi(x: Any, scalar: Any) -> Any:
    """Floats as signed integers, the fraction cut off; 8 bits are the low ones of 16."""
    return _to_integer(to_single(x), _SIGNED[np.dtype(scalar).itemsize]).astype(scalar)


def fptoui(x: Any, scalar: Any) -> Any:
    """Floats as unsigned integers, the fraction cut off; returned as the signed type `scalar`."""
    return _to_integer(to_single(x), _UNSIGNED[np.dtype(scalar).itemsize]).astype(scalar)


def cast_signed(x: Any, scalar: Any) -> Any:
    """Floats as signed integers, as C++ for CUDA casts them: 8 and 16 bits are the low of 32."""
    size = max(np.dtype(scalar).itemsize, _CXX_BYTES)
    return _to_integer(to_single(x), _SIGNED[size]).astype(scalar)


def cast_unsigned(x: Any, scalar: Any) -> Any:
    """As `cast_signed`, for unsigned integers; returned as the signed type `scalar`."""
    size = max(np.dtype(scalar).itemsize, _CXX_BYTES)
    return _to_integer(to_single(x), _UNSIGNED[size]).astype(scalar)


def _to_integer(x: Any, scalar: Any) -> Any:
    limits = np.iinfo(scalar)
    low, high = x.dtype.type(limits.min), x.dtype.type(limits.max)  # high may round up by one
    inside = (x > low - 1) & (x < high)
    result = np.asarray(x).astype(scalar)
    if not inside.all():
        result = where(x >= high, scalar(limits.max), result)
        result = where(x <= low, scalar(limits.min), result)
        result = where(x != x, _nan_as(scalar, x.dtype), result)
    return result[()]


def _nan_as(scalar: Any, source: np.dtype[Any]) -> Any:
    """What `cvt` makes of NaN: 0, or the top bit alone where 64 bits take part."""
    bits = 8 * np.dtype(scalar).itemsize
    if max(bits, 8 * source.itemsize) < 64:
        return scalar(0)
    return np.left_shift(scalar(1), scalar(bits - 1))


def fma(a: Any, b: Any, c: Any) -> Any:
    """`a * b + c`, rounded once."""
    dtype = a.dtype
    if dtype == np.float64:
        return _fma_double(a, b, c)
    result = a.astype(np.float64) * b.astype(np.float64)  # exact: at most 48 bits
    total, error = _two_sum(result, c.astype(np.float64))
    exact = np.asarray(_odd_double(total, error))
    return (exact.astype(np.float32) if dtype == np.float32 else narrow(exact, dtype))[()]


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The sum and its rounding error (Knuth)."""
    total = a + b
    shadow = total - a
    return total, (a - (total - shadow)) + (b - shadow)


def _exact_multiply(a: Any, b: Any) -> tuple[Any, Any]:
    """`a * b` and its rounding error (Dekker)."""
    (a1, a0), (b1, b0) = _halves(a), _halves(b)
    result = a * b
    return result, a0 * b0 - (((result - a1 * b1) - a0 * b1) - a1 * b0)


def _halves(x: Any) -> tuple[Any, Any]:
    shifted = x * 134217729.0  # 2**27 + 1
    upper = shifted - (shifted - x)
    return upper, x - upper


def _odd_double(total: Any, error: Any) -> Any:
    """`total + error` rounded to odd: where inexact, the adjacent float whose last bit is set."""
    total = np.asarray(total)
    bits = total.view(np.int64)
    inexact = np.isfinite(total) & (error != 0) & ((bits & 1) == 0)
    outward = (error > 0) == (total > 0)
    step = where(outward, 1, -1)
    return where(inexact, bits + step, bits).view(np.float64)


def _fma_double(a: Any, b: Any, c: Any) -> Any:
    high, low = _exact_multiply(a, b)
    carried, rest = _two_sum(c, low)
    total, error = _two_sum(high, carried)
    result = total + _odd_double(*_two_sum(rest, error))
    # Splitting overflows for huge operands; there the plain result has the same value or none.
    return where(np.isfinite(result), result, a * b + c)[()]


def round_away(x: Any) -> Any:
    """The nearest whole number; halves away from zero."""
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)
