"""Numbers of Python as values of a kernel.

A number without a type gets the smallest one that holds it, starting at 32 bits:

    True     int1      2**31  uint32      1.5    float32
    3, -3    int32     2**32  int64       1e300  float64
                       2**63  uint64      1e-40  float64: too small for a normal float32
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

from typing_extensions import TypeIs

from tilewright.dialects import arith
from tilewright.language.tl.constexpr import constexpr_type, unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import (
    block_type,
    check_shape,
    dtype,
    float32,
    float64,
    int1,
    int32,
    int64,
    uint32,
    uint64,
)
from tilewright.language.tl.literals import constant, splat_to
from tilewright.language.tl.tensor import emit, tensor

_SMALLEST_FLOAT32 = 2.0**-126
_LARGEST_FLOAT32 = (2 - 2.0**-23) * 2.0**127
_RANGES = (
    (-(2**31), 2**31, int32),
    (0, 2**32, uint32),
    (-(2**63), 2**63, int64),
    (0, 2**64, uint64),
)


def is_python_scalar(value: object) -> TypeIs[int | float | bool]:
    """Whether `value` is a Python number, known when the kernel is compiled."""
    return isinstance(value, (int, float))


def type_of_scalar(value: object) -> dtype:
    """The type that a number of Python, or the type of one, has in a kernel."""
    if isinstance(value, dtype):
        return value
    scalar = value.value if isinstance(value, constexpr_type) else unwrap(value)
    if isinstance(scalar, bool):
        return int1
    if isinstance(scalar, int):
        for low, high, type in _RANGES:
            if low <= scalar < high:
                return type
        raise ValueError(
            f"Nonrepresentable integer {scalar}: no integer type has more than 64 bits"
        )
    if isinstance(scalar, float):
        magnitude = abs(scalar)
        is_special = magnitude == 0.0 or math.isinf(scalar) or math.isnan(scalar)
        fits = is_special or _SMALLEST_FLOAT32 <= magnitude <= _LARGEST_FLOAT32
        return float32 if fits else float64
    raise TypeError(
        f"cannot convert {scalar} of type {scalar.__class__} to tensor: values of a kernel are "
        "scalars and tensors"
    )


def to_tensor(x: object) -> tensor:
    """`x` as a tensor: a tensor itself, or a constant for a Python number."""
    x = unwrap(x)
    if isinstance(x, tensor):
        return x
    return scalar_constant(cast("int | float", x), type_of_scalar(x))


def scalar_constant(value: int | float, dtype: dtype) -> tensor:
    """`value` as a constant of `dtype`."""
    value = unwrap(value)
    if dtype.is_bool():
        value = bool(value)
    elif dtype.is_int():
        return constant(_integer(value, dtype), dtype)
    elif dtype.is_fp8e4b15():
        return convert(constant(float(value), float32), dtype)
    elif dtype.is_fp8():
        wide = constant(float(value), float32)
        return emit(arith.TruncfOp(wide.handle, dtype.to_ir()), dtype)
    return constant(value, dtype)


def _integer(value: int | float, dtype: dtype) -> int:
    """The bits of `value` as an integer type holds them, read as a signed number."""
    if value == 0:
        return 0
    if not isinstance(value, int):
        raise TypeError(
            f"{value} is not an integer, as a value of type {dtype} must be: "
            "write an integer or choose a floating-point type"
        )
    bits = dtype.int_bitwidth
    if (
        not (-(2**63) if dtype.is_int_signed() else 0)
        <= value
        < (2**63 if dtype.is_int_signed() else 2**64)
    ):
        raise TypeError(f"{value} is out of range for type {dtype}")
    wrapped = value % 2**bits
    return wrapped - 2**bits if wrapped >= 2 ** (bits - 1) else wrapped


def zero_of(dtype: dtype) -> tensor:
    """The constant 0 of a scalar type."""
    return constant(0, dtype)


def all_ones_of(dtype: dtype) -> tensor:
    """The integer all of whose bits are set."""
    return constant(True if dtype.is_bool() else -1, dtype)


def splat(value: tensor, shape: Sequence[int]) -> tensor:
    """A block of `shape` with the scalar `value` in every element; the scalar for no shape."""
    if value.type.is_block():
        raise TypeError(f"Cannot splat a block tensor: only a scalar fills a block, not {value}")
    if not shape:
        return value
    return splat_to(value, block_type(value.dtype, shape))


def make_scalar(value: object, dtype: dtype) -> tensor:
    """`value`, a number or a tensor of one element, as `dtype`."""
    if isinstance(value, tensor):
        if value.numel != 1:
            raise ValueError(f"only accepts size-1 tensor, got {value}")
        return convert(value, dtype)
    return scalar_constant(cast("int | float", value), dtype)


def full(shape: Sequence[int] | int, value: object, dtype: dtype) -> tensor:
    """A block of `shape` with `value`, a number or a scalar tensor, in every element."""
    sizes = unwrap(shape)
    extents = check_shape((sizes,) if isinstance(sizes, int) else sizes)
    return splat(make_scalar(unwrap(value), unwrap(dtype)), extents)
