"""A number as a number of another type, as copies convert it."""

from __future__ import annotations

from xdsl.dialects.builtin import AnyFloat, IndexType, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith import (
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
from tilewright.dialects.type_utils import bit_width
from tilewright.passes.tile.code import Code


def converted(
    code: Code, value: SSAValue, type: Attribute, *, is_unsigned: bool = False
) -> SSAValue:
    """`value` as `type`; integers are read as unsigned if asked, and i1 always is."""
    source = value.type
    if source == type:
        return value
    return code.add(_conversion(value, source, type, is_unsigned)).results[0]


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
