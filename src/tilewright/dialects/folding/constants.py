"""Constant attributes seen as numbers.

A fold rule is written once, on Python numbers. This file carries it to every form a constant has::

    5 : i32                             one number
    dense<5> : tensor<128xi32>          one number, however many elements it stands for
    dense<[1, 2, 3]> : tensor<3xi32>    a number each, up to MAX_ELEMENTS

Integers are signed, in the range of their type: ``true`` is -1, ``255 : i8`` is -1. Results wrap
around into that range. ``index`` counts as 64 bits, as in MLIR. Floats are rounded to nearest even
into their type; overflow becomes an infinity. A rule returns ``None`` when the result is
not defined or not certain (division by zero, shift by too much), and nothing is folded.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

from typing_extensions import TypeIs
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from tilewright.dialects.type_utils import element_type_of, is_tensor, shape_of
from tilewright.ir.text.literals import SplatElementsAttr, scalar_attribute

Scalar: TypeAlias = int | float
Constants: TypeAlias = Sequence[Attribute | None]
"""The value of each operand of an op, where it is known."""

MAX_ELEMENTS = 4096
"""A longer constant is not folded element by element at compile time."""

INDEX_BITS = 64


def defined_by(value: SSAValue, *names: str) -> Operation | None:
    """The op that makes ``value``, if it has one of the names."""
    if not isinstance(value, OpResult):
        return None
    return value.op if value.op.name in names else None


# Types.


def integer_width(type: Attribute) -> int | None:
    """The number of bits of an integer type or of the integers in a tensor."""
    scalar = element_type_of(type)
    if is_integer_type(scalar):
        return scalar.width.data
    return INDEX_BITS if isinstance(scalar, IndexType) else None


def is_integer_type(type: Attribute) -> TypeIs[IntegerType]:
    return isinstance(type, IntegerType)


# Integers.


def wrap(value: int, width: int) -> int:
    """``value`` modulo ``2**width``, as a signed number."""
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def as_unsigned(value: int, width: int) -> int:
    """The same bits read as a number that is never negative."""
    return value & ((1 << width) - 1)


# Floats.

_FORMATS: dict[type[Attribute], tuple[int, int, int]] = {
    # bits with the hidden one, exponent of the least subnormal, exponent of the least infinity
    Float16Type: (11, -24, 16),
    BFloat16Type: (8, -133, 128),
    Float32Type: (24, -149, 128),
}


def is_computable(type: Attribute) -> bool:
    """Whether arithmetic on this float type is rounded as hardware does: f16, bf16, f32, f64."""
    return type.__class__ in _FORMATS or isinstance(type, Float64Type)


def round_to(value: float, type: Attribute) -> float:
    """``value`` in the precision of ``type``, to nearest even.

    A result of one addition, subtraction, multiplication, division or square root of numbers of
    a narrower type, computed in double precision, is correct after this second rounding: 53 bits
    are more than twice 24 plus one.
    """
    if math.isnan(value):
        return math.nan
    if isinstance(type, Float64Type) or value == 0 or math.isinf(value):
        return value
    precision, min_exponent, limit = _FORMATS[type.__class__]
    exponent = math.frexp(value)[1]
    if exponent > limit:
        return math.copysign(math.inf, value)
    quantum = max(exponent - precision, min_exponent)
    rounded = math.ldexp(round(math.ldexp(value, -quantum)), quantum)
    if math.frexp(rounded)[1] > limit:
        rounded = math.inf
    return math.copysign(rounded, value)


def same_float(a: float, b: float) -> bool:
    """Whether two numbers have the same bits: 0.0 is not -0.0, and a NaN is itself."""
    return struct.pack("<d", a) == struct.pack("<d", b)


# Attributes.


def is_integer_attr(attribute: Attribute | None) -> TypeIs[IntegerAttr]:
    return isinstance(attribute, IntegerAttr)


def is_float_attr(attribute: Attribute | None) -> TypeIs[FloatAttr]:
    return isinstance(attribute, FloatAttr)


def is_dense(attribute: Attribute | None) -> TypeIs[DenseIntOrFPElementsAttr]:
    return isinstance(attribute, DenseIntOrFPElementsAttr)


def scalar_value(constant: Attribute | None) -> Scalar | None:
    """The number that a scalar is, or that all elements of a splat are."""
    if not is_integer_attr(constant) and isinstance(constant, SplatElementsAttr):
        constant = constant.value
    if is_integer_attr(constant):
        width = integer_width(constant.type)
        return None if width is None else wrap(constant.value.data, width)
    return constant.value.data if is_float_attr(constant) else None


def element_values(constant: Attribute | None) -> Sequence[Scalar] | None:
    """The elements of a constant; a single one for scalars and splats."""
    if not is_dense(constant):
        scalar = scalar_value(constant)
        return None if scalar is None else (scalar,)
    if len(constant) > MAX_ELEMENTS:
        return None
    values = constant.get_values()
    width = integer_width(constant.type)
    if width is not None:
        return [wrap(value, width) for value in values if isinstance(value, int)]
    return [value for value in values if isinstance(value, float)] or None


def is_integer(constant: Attribute | None, value: int) -> bool:
    """Whether ``constant`` is an integer or splat of integers equal to ``value``."""
    scalar = scalar_value(constant)
    return isinstance(scalar, int) and scalar == value


def is_float(constant: Attribute | None, value: float) -> bool:
    """Whether ``constant`` is a float or splat of floats with the bits of ``value``."""
    scalar = scalar_value(constant)
    return isinstance(scalar, float) and same_float(scalar, value)


def splat(value: Scalar, type: Attribute) -> Attribute | None:
    """The constant of type ``type`` whose elements are all ``value``."""
    scalar_type = element_type_of(type)
    if not isinstance(scalar_type, (IntegerType, IndexType, AnyFloat)):
        return None
    if DYNAMIC_INDEX in shape_of(type):
        return None
    scalar = scalar_attribute(value, scalar_type)
    return scalar if scalar_type is type else SplatElementsAttr(scalar, type)


def from_values(values: Sequence[Scalar], type: Attribute) -> Attribute | None:
    """The constant of type ``type`` with the given elements, a splat if they are all equal."""
    first = values[0]
    if len(values) == 1 or all(_same(first, value) for value in values):
        return splat(first, type)
    if not is_tensor(type):
        return None
    # The overloads want one kind of number; tensors of one element type have no other.
    return DenseIntOrFPElementsAttr.from_list(type, values)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]


def _same(a: Scalar, b: Scalar) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return same_float(a, b)
    return a == b


def elementwise(
    rule: Callable[..., Scalar | None],
    operands: Constants,
    result_type: Attribute,
) -> Attribute | None:
    """Apply a rule on numbers to constants; ``None`` if any result is unknown."""
    if None in operands:
        return None
    columns: list[Sequence[Scalar]] = []
    for operand in operands:
        column = element_values(operand)
        if column is None:
            return None
        columns.append(column)
    count = max(map(len, columns))
    if count == 1:
        value = rule(*(column[0] for column in columns))
        return None if value is None else splat(value, result_type)
    rows = zip(*(c if len(c) > 1 else [c[0]] * count for c in columns), strict=True)
    results: list[Scalar] = []
    for row in rows:
        value = rule(*row)
        if value is None:
            return None
        results.append(value)
    return from_values(results, result_type)
