"""Matrix multiplication: `tt.dot` and `tt.dot_scaled`.

`tt.dot` multiplies in single precision (double for doubles) whatever its operands are, adds the
accumulator and rounds once to its type. Every matrix of a batch is multiplied separately with
the same extents and in the same layout, so a result depends neither on how many programs run
together nor on whether an operand was transposed. Integers go through floats wide enough to hold
every partial sum exactly.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from tilewright.targets.numpy.support.floats import narrow, to_single

_EXACT_SINGLE = 1 << 24
_EXACT_DOUBLE = 1 << 53
_E2M1 = np.arange(16, dtype=np.uint8).view(ml_dtypes.float4_e2m1fn).astype(np.float32)
_SMALL_FORMATS: dict[str, Any] = {
    "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
    "e2m3": ml_dtypes.float6_e2m3fn,
    "e3m2": ml_dtypes.float6_e3m2fn,
    "bf16": ml_dtypes.bfloat16,
    "fp16": np.float16,
}
_MIN_SCALE = 127


def dot(a: Any, b: Any, c: Any) -> Any:
    """`a @ b + c` in the type of `c`."""
    if c.dtype.kind == "i":
        return _dot_integers(a, b, c)
    if c.dtype == np.float64:
        return _plus(_matmul(a.astype(np.float64), b.astype(np.float64)), c)
    result = _matmul(to_single(a), to_single(b))
    if c.dtype == np.float32:
        return _plus(result, c)
    return narrow(_plus(result, to_single(c)), c.dtype)


def _matmul(a: Any, b: Any) -> Any:
    """`a @ b` by rows: the library adds in an order of its own for each layout of its operands."""
    return np.matmul(np.ascontiguousarray(a), np.ascontiguousarray(b))


def _plus(result: Any, c: Any) -> Any:
    """The sum, in place unless `c` is for more programs than `a @ b`."""
    if c.ndim and c.shape[0] > result.shape[0]:
        return result + c
    result += c
    return result


def _dot_integers(a: Any, b: Any, c: Any) -> Any:
    bits = 8 * a.dtype.itemsize
    largest = a.shape[-1] << (2 * bits - 2)
    if largest <= _EXACT_SINGLE:
        result = np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(c.dtype)
    elif largest <= _EXACT_DOUBLE:
        result = np.matmul(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)
        result = result.astype(c.dtype)
    else:
        result = np.matmul(a.astype(c.dtype), b.astype(c.dtype))
    return result + c


def dot_scaled(
    a: Any,
    a_scale: Any | None,
    a_format: str,
    a_packed_along_k: bool,
    b: Any,
    b_scale: Any | None,
    b_format: str,
    b_packed_along_k: bool,
    c: Any,
) -> Any:
    """The dot of block-scaled matrices, added to `c`."""
    left = _unpacked(a, a_format, -1 if a_packed_along_k else -2)
    right = _unpacked(b, b_format, -2 if b_packed_along_k else -1)
    if a_scale is not None:
        left = left * _spread(a_scale, left.shape[-1])
    if b_scale is not None:
        right = right * np.swapaxes(_spread(b_scale, right.shape[-2]), -1, -2)
    return dot(left, right, c)


def _unpacked(x: Any, format: str, axis: int) -> Any:
    """The numbers in `x` in single precision; two e2m1 share a byte, the lower half first."""
    if format != "e2m1":
        scalar = _SMALL_FORMATS[format]
        return to_single(x if x.dtype == scalar else x.view(scalar))
    bits = x.view(np.uint8)
    pair = np.stack((_E2M1[bits & 15], _E2M1[bits >> 4]), axis=x.ndim if axis == -1 else -2)
    shape = list(x.shape)
    shape[axis] *= 2
    return pair.reshape(shape)


def _spread(scale: Any, k: int) -> Any:
    """Scales repeated along K. A byte is a power of two, 255 is NaN; floats are themselves."""
    if scale.dtype.kind == "i":
        bits = scale.view(np.uint8).astype(np.int32)
        value = np.ldexp(np.float32(1), bits - _MIN_SCALE)
        value = np.where(bits == 255, np.float32(np.nan), value)
    else:
        value = to_single(scale)
    return np.repeat(value, k // scale.shape[-1], axis=-1)
