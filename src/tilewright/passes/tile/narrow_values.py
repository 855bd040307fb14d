"""Numbers of 4 bits, computed with in bytes.

A byte holds the number in its lower half; the upper half is undefined until it is `normalised`.

    float4_e2m1fn     sign, exponent of 2 bits, mantissa of 1 bit: 0 0.5 1 1.5 2 3 4 6
    int4, uint4       -8 ... 7, 0 ... 15

Floats are rounded to the nearest number, ties to the even code; what is larger than 6 becomes 6,
and a NaN +6, as the conversions of GPUs do.
"""

from __future__ import annotations

from enum import Enum

from xdsl.dialects.builtin import AnyFloat, Float4E2M1FNType, Float32Type, IntegerType, i8, i32
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects import arith
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.text.floats import float_bits
from tilewright.passes.tile.index_builder import IndexBuilder

BITS = 4
F32 = Float32Type()
_LOW, _SIGN = 0xF, 0x8
_HALF_BITS = 126 << 23
"""Of 0.5 as a float32."""
_LIMITS = ((0.25, False), (0.75, True), (1.25, False), (1.75, True), (2.5, False), (3.5, True),
           (5.0, False))  # fmt: skip
"""From which magnitude on a code is the next one, and whether the limit itself belongs to it."""


class Kind(Enum):
    """What 4 bits stand for."""

    FLOAT = "float4_e2m1fn"
    SIGNED = "int4"
    UNSIGNED = "uint4"

    @property
    def dtype(self) -> str:
        """Of a byte with a normalised number."""
        return "int8" if self is Kind.SIGNED else "uint8"


def is_narrow(type: Attribute) -> bool:
    """Whether a scalar type has 4 bits."""
    return isinstance(type, Float4E2M1FNType) or (
        isinstance(type, IntegerType) and type.width.data == BITS
    )


def constant(code: IndexBuilder, value: int | float, type: Attribute) -> SSAValue:
    return code.add(arith.ConstantOp.of(value, type)).results[0]


def low(code: IndexBuilder, value: SSAValue) -> SSAValue:
    """The number with zeros above it."""
    return code.add(arith.AndiOp(value, constant(code, _LOW, i8))).results[0]


def shifted(code: IndexBuilder, value: SSAValue) -> SSAValue:
    """The number in the upper half of a byte."""
    return code.add(arith.ShliOp(value, constant(code, BITS, i8))).results[0]


def normalised(code: IndexBuilder, value: SSAValue, kind: Kind) -> SSAValue:
    """The number as a byte."""
    if kind is not Kind.SIGNED:
        return low(code, value)
    return code.add(
        arith.ShrsiOp(shifted(code, value), constant(code, BITS, i8))
    ).results[0]  # fmt: skip


def decoded(code: IndexBuilder, value: SSAValue) -> SSAValue:
    """A float as a float32."""
    wide = code.add(arith.ExtuiOp(low(code, value), i32)).results[0]
    sign = code.add(arith.AndiOp(wide, constant(code, _SIGN, i32))).results[0]
    sign = code.add(arith.ShliOp(sign, constant(code, 28, i32))).results[0]
    rest = code.add(arith.AndiOp(wide, constant(code, _SIGN - 1, i32))).results[0]
    small = code.add(arith.MuliOp(rest, constant(code, _HALF_BITS, i32))).results[0]
    normal = code.add(arith.ShliOp(rest, constant(code, 22, i32))).results[0]
    normal = code.add(arith.AddiOp(normal, constant(code, _HALF_BITS, i32))).results[0]
    is_small = code.add(arith.CmpiOp("ult", rest, constant(code, 2, i32))).results[0]
    bits = code.add(arith.SelectOp(is_small, small, normal)).results[0]
    bits = code.add(arith.OriOp(bits, sign)).results[0]
    return code.add(arith.BitcastOp(bits, F32)).results[0]


def encoded(code: IndexBuilder, value: SSAValue) -> SSAValue:
    """A float as one of 4 bits, by comparing magnitudes as the integers that their bits are."""
    if bit_width(value.type) < 16:
        value = code.add(arith.ExtfOp(value, F32)).results[0]
    type = value.type
    assert isinstance(type, AnyFloat)
    width = bit_width(type)
    bits = IntegerType(width)
    given = code.add(arith.BitcastOp(value, bits)).results[0]
    magnitude = code.add(
        arith.AndiOp(given, constant(code, (1 << (width - 1)) - 1, bits))
    ).results[0]  # fmt: skip
    found = constant(code, 0, i8)
    for index, (limit, is_included) in enumerate(_LIMITS, start=1):
        bound = constant(code, float_bits(limit, type), bits)
        is_reached = arith.CmpiOp("uge" if is_included else "ugt", magnitude, bound)
        reached = code.add(is_reached).results[0]
        found = code.add(arith.SelectOp(reached, constant(code, index, i8), found)).results[0]
    negative = code.add(arith.CmpiOp("slt", given, constant(code, 0, bits))).results[0]
    infinity = constant(code, float_bits(float("inf"), type), bits)
    is_no_nan = code.add(arith.CmpiOp("ule", magnitude, infinity)).results[0]
    negative = code.add(arith.AndiOp(negative, is_no_nan)).results[0]
    with_sign = code.add(arith.OriOp(found, constant(code, _SIGN, i8))).results[0]
    return code.add(arith.SelectOp(negative, with_sign, found)).results[0]


def widened(code: IndexBuilder, value: SSAValue, kind: Kind, to: Attribute) -> SSAValue:
    """The number as an element of an ordinary type."""
    if kind is Kind.FLOAT:
        found = decoded(code, value)
        if not isinstance(to, AnyFloat):
            return code.add(arith.FptosiOp(found, to)).results[0]
        if to == F32:
            return found
        op = arith.ExtfOp if bit_width(to) > bit_width(F32) else arith.TruncfOp
        return code.add(op(found, to)).results[0]
    found = normalised(code, value, kind)
    is_signed = kind is Kind.SIGNED
    if isinstance(to, AnyFloat):
        return code.add((arith.SitofpOp if is_signed else arith.UitofpOp)(found, to)).results[0]
    if to == i8:
        return found
    return code.add((arith.ExtsiOp if is_signed else arith.ExtuiOp)(found, to)).results[0]


def narrowed(
    code: IndexBuilder, value: SSAValue, kind: Kind, *, is_unsigned: bool = False
) -> SSAValue:
    """An element of an ordinary type as a number of 4 bits."""
    is_float = isinstance(value.type, AnyFloat)
    if kind is Kind.FLOAT:
        if not is_float:
            op = arith.UitofpOp if is_unsigned else arith.SitofpOp
            value = code.add(op(value, F32)).results[0]
        return encoded(code, value)
    if is_float:
        return code.add(arith.FptosiOp(value, i8)).results[0]
    width = bit_width(value.type)
    if width == bit_width(i8):
        return value
    op = arith.TrunciOp if width > bit_width(i8) else arith.ExtuiOp
    return code.add(op(value, i8)).results[0]
