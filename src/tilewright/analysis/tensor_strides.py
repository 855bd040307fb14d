"""The addresses and strides of tensors in global memory."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, StridedLayoutAttr
from xdsl.ir import SSAValue

from tilewright.dialects.tile.regions import PtrOfOp, ViewOp
from tilewright.dialects.type_utils import shape_of


def is_at_address(buffer: SSAValue) -> bool:
    """Whether a tensor is a view that starts at an element of another, not at its first."""
    while isinstance(owner := buffer.owner, ViewOp):
        buffer = owner.source
    return isinstance(owner, PtrOfOp)


def declared_strides(buffer: SSAValue) -> list[int | None] | None:
    """The strides that a tensor declares; None if its rows are contiguous."""
    type = buffer.type
    assert isinstance(type, MemRefType)
    layout = type.layout
    return list(layout.get_strides()) if isinstance(layout, StridedLayoutAttr) else None


def row_strides(buffer: SSAValue) -> list[int | None]:
    """The stride of each dimension in elements; None where it is a run-time value."""
    declared = declared_strides(buffer)
    if declared is not None:
        return declared
    found: list[int | None] = []
    total: int | None = 1
    for extent in reversed(shape_of(buffer.type)):
        found.append(total)
        total = None if extent == DYNAMIC_INDEX or total is None else total * extent
    return found[::-1]


def stride_divisors(buffer: SSAValue) -> list[int]:
    """For each dimension an integer that divides its stride, whatever the run-time values are."""
    declared = declared_strides(buffer)
    if declared is not None:
        return [1 if stride is None else stride for stride in declared]
    found: list[int] = []
    total = 1
    for extent in reversed(shape_of(buffer.type)):
        found.append(total)
        total *= 1 if extent == DYNAMIC_INDEX else extent
    return found[::-1]
