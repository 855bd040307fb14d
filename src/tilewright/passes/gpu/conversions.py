"""A number as a number of another type, as copies convert it."""

from __future__ import annotations

from xdsl.dialects.builtin import (
    AnyFloat,
    Float32Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith import (
    CmpfOp,
    CmpiOp,
    ConstantOp,
    ExtfOp,
    ExtsiOp,
    ExtuiOp,
    FptosiOp,
    FptouiOp,
    IndexCastOp,
    SitofpOp,
    TruncfOp,
    TrunciOp,
    UitofpOp,
)
from tilewright.dialects.tile.signedness import is_unsigned
from tilewright.dialects.type_utils import bit_width, element_type_of
from tilewright.passes.tile.index_builder import IndexBuilder


def converted(
    code: IndexBuilder, value: SSAValue, type: Attribute, *, is_unsigned: bool = False
) -> SSAValue:
    """`value` as `type`; integers are read as unsigned if requested, and i1 always is."""
    source = value.type
    if source == type:
        return value
    if type == IntegerType(1):
        return _is_not_zero(code, value)
    are_floats = isinstance(source, AnyFloat) and isinstance(type, AnyFloat)
    if are_floats and bit_width(source) == bit_width(type):  # neither widens nor narrows the other
        value = code.add(ExtfOp(value, Float32Type())).results[0]
        source = value.type
    return code.add(_conversion(value, source, type, is_unsigned)).results[0]


def _is_not_zero(code: IndexBuilder, value: SSAValue) -> SSAValue:
    """Every value but zero is true; truncation to one bit would make even values false."""
    if isinstance(value.type, AnyFloat):
        zero = code.add(ConstantOp(FloatAttr(0.0, value.type))).results[0]
        return code.add(CmpfOp("une", value, zero)).results[0]
    assert isinstance(value.type, IntegerType | IndexType)
    zero = code.add(ConstantOp(IntegerAttr(0, value.type))).results[0]
    return code.add(CmpiOp("ne", value, zero)).results[0]


def copied(code: IndexBuilder, value: SSAValue, source: SSAValue, target: SSAValue) -> SSAValue:
    """An element of one buffer as an element of another; signedness comes from the buffer types."""
    decides = target if isinstance(value.type, AnyFloat) else source
    type = element_type_of(target.type)
    return converted(code, value, type, is_unsigned=is_unsigned(decides))


def _conversion(
    value: SSAValue, source: Attribute, type: Attribute, is_unsigned: bool
) -> Operation:
    if isinstance(source, IndexType) or isinstance(type, IndexType):
        return IndexCastOp(value, type)
    unsigned = is_unsigned or source == IntegerType(1)
    if isinstance(source, AnyFloat) and isinstance(type, AnyFloat):
        return _between_floats(value, source, type)
    if isinstance(source, AnyFloat):
        return (FptouiOp if is_unsigned else FptosiOp)(value, type)
    if isinstance(type, AnyFloat):
        return (UitofpOp if unsigned else SitofpOp)(value, type)
    if bit_width(type) < bit_width(source):
        return TrunciOp(value, type)
    return (ExtuiOp if unsigned else ExtsiOp)(value, type)


def _between_floats(value: SSAValue, source: AnyFloat, type: AnyFloat) -> Operation:
    return (ExtfOp if bit_width(type) > bit_width(source) else TruncfOp)(value, type)
