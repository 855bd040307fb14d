"""Where the elements of tensors in global memory are: strides and addresses, for all launches.

    %A = tile.view %p sizes(%m, %k) strides(%s) : ... to memref<?x?xf16, strided<[?, 1]>>

A row of `A` begins at a multiple of 16 bytes if `A` does and `%s` is a multiple of 8. Both are
proved, from constants, ``tile.divisibility`` of arguments and ``tile.assume``, which a launch
checks; arrays that are passed begin at a multiple of `ADDRESS_BYTES`, unless the argument states
another one; so do addresses that the kernel has as integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerAttr, MemRefType, StridedLayoutAttr
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.dialects.arith import ConstantOp
from tilewright.dialects.func import argument_attributes
from tilewright.dialects.tile import KernelOp, names
from tilewright.dialects.tile.kernel import kernel_of
from tilewright.dialects.tile.regions import PtrAtOp, PtrOfOp, ViewOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of

ADDRESS_BYTES = 16
"""What divides the address of an array that a launch takes: the launch checks it."""


def element_bytes(tensor: SSAValue) -> int:
    """Bytes of an element; elements of fewer bits are addressed in bytes."""
    return max(8, bit_width(element_type_of(tensor.type))) // 8


def declared_strides(tensor: SSAValue) -> list[int | None] | None:
    """The strides that a tensor declares; None if its rows are contiguous."""
    type = tensor.type
    assert isinstance(type, MemRefType)
    layout = type.layout
    return list(layout.get_strides()) if isinstance(layout, StridedLayoutAttr) else None


def row_strides(tensor: SSAValue) -> list[int | None]:
    """The stride of each dimension in elements; None where it is a run-time value."""
    declared = declared_strides(tensor)
    if declared is not None:
        return declared
    found: list[int | None] = []
    total: int | None = 1
    for extent in reversed(shape_of(tensor.type)):
        found.append(total)
        total = None if extent == DYNAMIC_INDEX or total is None else total * extent
    return found[::-1]


def name_of(tensor: SSAValue) -> str:
    return tensor.name_hint or "the tensor"


Known: TypeAlias = Callable[[], IndexRanges]
"""What is known of run-time values; queried only where there are any, as the analysis is long."""


def uneven_stride(tensor: SSAValue, unit: int, at: Operation, known: Known) -> str | None:
    """Why not every row begins `unit` elements, or a multiple, after another; None if all do."""
    for dimension, stride in enumerate(row_strides(tensor)[:-1]):
        if stride is None:
            ranges = known()
            if not ranges.context(at).is_multiple(ranges.stride(tensor, dimension), unit):
                return (
                    f"the stride of dimension {dimension} of {name_of(tensor)} is a run-time value "
                    f"that is not known to be a multiple of {unit}"
                )
        elif stride % unit:
            size, step = stride * element_bytes(tensor), unit * element_bytes(tensor)
            return (
                f"the stride of dimension {dimension} of {name_of(tensor)} is {size} bytes, not a "
                f"multiple of {step}; pad it to {-(-size // step) * step} bytes "
                f"({-(-stride // unit) * unit} elements)"
            )
    return None


def uneven_start(tensor: SSAValue, bytes_: int, at: Operation, known: Known) -> str | None:
    """Why a tensor is not known to begin at a multiple of some bytes; None if it does."""
    owner = tensor.owner
    if isinstance(owner, ViewOp):
        return uneven_start(owner.source, bytes_, at, known)
    if isinstance(owner, PtrOfOp):
        return _uneven_element(owner, bytes_, at, known)
    aligned = ADDRESS_BYTES
    if isinstance(tensor, BlockArgument):
        aligned = address_bytes(tensor)
    elif isinstance(owner, PtrAtOp):
        aligned = owner.divisor
    if aligned % bytes_ == 0:
        return None
    return f"the address of {name_of(tensor)} is known to be a multiple of {aligned} only"


def _uneven_element(op: PtrOfOp, bytes_: int, at: Operation, known: Known) -> str | None:
    ranges = known()
    offset = ranges.space.const(0)
    for axis, index in enumerate(op.indices):
        offset = offset + ranges.poly(index) * ranges.stride(op.base, axis)
    size = element_bytes(op.base)
    if not ranges.context(at).is_multiple(offset * size, bytes_):
        return (
            f"the address of an element of {name_of(op.base)} is not known to be a multiple of "
            f"{bytes_}"
        )
    return uneven_start(op.base, bytes_, at, known)


def extent_is_multiple(tensor: SSAValue, axis: int, unit: int, at: Operation, known: Known) -> bool:
    """Whether the extent along an axis is a multiple of some elements, for all launches."""
    extent = shape_of(tensor.type)[axis]
    if extent != DYNAMIC_INDEX:
        return extent % unit == 0
    ranges = known()
    return ranges.context(at).is_multiple(ranges.extent(tensor, axis), unit)


def address_bytes(argument: BlockArgument) -> int:
    """What divides the address of an argument."""
    stated = argument_attributes(argument).get(names.DIVISIBILITY)
    return stated.value.data if isinstance(stated, IntegerAttr) else ADDRESS_BYTES


def is_known_to_host(tensor: SSAValue, op: Operation) -> bool:
    """Whether the host has the tensor that a kernel accesses in `op`: an argument, or a view of one
    that does not depend on what the kernel computes."""
    owner = tensor.owner
    if isinstance(owner, Block):
        return isinstance(tensor, BlockArgument) and not _is_within(owner, kernel_of(op))
    if not isinstance(owner, ViewOp | PtrOfOp):
        return False
    given = [each for each in owner.operands if each is not owner.operands[0]]
    kernel = kernel_of(op)
    return is_known_to_host(owner.operands[0], op) and all(
        isinstance(each.owner, ConstantOp) or not _is_within(each.owner, kernel) for each in given
    )


def _is_within(owner: Operation | Block, kernel: KernelOp | None) -> bool:
    current = owner if isinstance(owner, Operation) else owner.parent_op()
    while current is not None and current is not kernel:
        current = current.parent_op()
    return kernel is not None and current is kernel
