"""What is read outside of a tensor: zero, unless the copy or the tensor names another value.

    tile.copy %region -> %tile fill(%v)        %v
    %A: ... {tile.safe_value = 1.0 : f32}      1.0, for every access to the argument itself
    otherwise                                  zero

TMA and cp.async write zeros there, so a copy with another value is made by threads.
"""

from __future__ import annotations

from math import copysign

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
)
from xdsl.ir import Attribute, BlockArgument, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.arith import ConstantValue
from tilewright.dialects.func import argument_attributes
from tilewright.dialects.memref import HasExtents
from tilewright.dialects.tile import AsyncCopyOp, CopyOp, Im2colOp, RegionOp, names
from tilewright.dialects.type_utils import element_type_of, shape_of
from tilewright.ir.interfaces import constant_value


def safe_value(tensor: SSAValue) -> ConstantValue:
    """What a read outside of a tensor gives."""
    element = element_type_of(tensor.type)
    if isinstance(tensor, BlockArgument):
        given = argument_attributes(tensor).get(names.SAFE_VALUE)
        if isinstance(given, FloatAttr | IntegerAttr):
            return given
    return zero_of(element)


def zero_of(element: Attribute) -> FloatAttr | IntegerAttr:
    """The zero of an element type."""
    if isinstance(element, AnyFloat):
        return FloatAttr(0.0, element)
    assert isinstance(element, IntegerType | IndexType)
    return IntegerAttr(0, element)


def tensor_of(side: SSAValue) -> SSAValue:
    """The tensor of a region, or the tensor itself."""
    return side.owner.base if isinstance(side.owner, RegionOp) else side


def outside_value(op: CopyOp | AsyncCopyOp | Im2colOp) -> SSAValue | Attribute:
    """What a copy from global memory reads outside of its tensor: a constant if it is known.

    The patches of an image are padded with zeros, whatever the safe value of the image is.
    """
    if isinstance(op, CopyOp) and op.fill is not None:
        found = constant_value(op.fill)
        return op.fill if found is None else found
    if isinstance(op, Im2colOp) or (isinstance(op, AsyncCopyOp) and op.zeros is not None):
        return zero_of(element_type_of(op.src.type))
    return safe_value(tensor_of(op.src))


def has_zeros(tensor: SSAValue) -> bool:
    """Whether reads outside of a tensor give zero."""
    return is_zero(safe_value(tensor))


def is_zero(value: SSAValue | Attribute) -> bool:
    """Whether all bits of a value are known to be zero."""
    if isinstance(value, FloatAttr):
        return value.value.data == 0.0 and copysign(1.0, value.value.data) > 0
    return isinstance(value, IntegerAttr) and value.value.data == 0


def other_than_zero(op: CopyOp | AsyncCopyOp | Im2colOp) -> str | None:
    """Why no unit that fills with zeros can do a copy; None if zeros are right."""
    value = outside_value(op)
    if is_zero(value):
        return None
    name = tensor_of(op.src).name_hint or "the tensor"
    if isinstance(value, FloatAttr | IntegerAttr):
        return f"elements outside of {name} read as {value.value.data}, not as zero"
    return f"elements outside of {name} read as a run-time value, not as zero"


def stays_inside(op: CopyOp | AsyncCopyOp, ranges: IndexRanges) -> bool:
    """Whether a copy is proved to read nothing outside of its tensor.

    Run-time extents of arguments prove nothing: that they are positive is assumed, and not checked.
    """
    region, context = op.src.owner, ranges.context(op)
    if not isinstance(region, RegionOp):
        return True
    if DYNAMIC_INDEX in shape_of(region.base.type) and not isinstance(
        region.base.owner, HasExtents
    ):
        return False
    for axis, (offset, extent) in enumerate(zip(region.offsets, region.extents, strict=True)):
        start, limit = ranges.poly(offset), ranges.extent(region.base, axis)
        end = start + ranges.poly(extent)
        inside = context.compare("<=", end, limit)
        if not context.is_nonneg(start) or context.decide(inside) is not True:
            return False
    return True
