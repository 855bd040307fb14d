"""Descriptors at a user-specified address (``descPtr``), built explicitly.

Stock Triton builds descriptors in memory of its own. One with an address is what it would make of
the op, at that address: the 128 bytes are filled in, fenced, and read back as a descriptor.
Dimensions are listed from the fastest to the slowest, strides in bytes and without that of the
fastest. A copy takes at most one swizzled row along the fastest dimension, so the box is no wider.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    ModuleOp,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.dialects.arith import ConstantOp, MuliOp
from tilewright.dialects.tt import MakeTensorDescOp
from tilewright.dialects.tt.types import TensorDescType
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding
from tilewright.dialects.ttng import (
    ReinterpretTensorDescOp,
    TensormapCreateOp,
    TensormapFenceproxyAcquireOp,
)
from tilewright.dialects.type_utils import bit_width
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk

_MAX_BOX = 256
_SWIZZLE_MODES = {0: 0, 32: 1, 64: 2, 128: 3}
_FLOATS: Mapping[type[Attribute], int] = {Float16Type: 6, Float32Type: 7, BFloat16Type: 9}
_UNSIGNED = {8: 0, 16: 1, 32: 2, 64: 4}
"""CUtensorMapDataType of elements by their width; what is copied is bytes."""
_ZERO_PADDING = 1


def build_descriptors(module: ModuleOp, rewriter: Rewriter) -> None:
    """Build every descriptor that has an address."""
    for op in list(walk(module)):
        if isinstance(op, MakeTensorDescOp) and op.desc_ptr is not None:
            _make(op, op.desc_ptr, rewriter)


def element_code(element: Attribute) -> int:
    """The TMA code of an element type."""
    return _FLOATS.get(type(element), _UNSIGNED[bit_width(element)])


def box(type: TensorDescType, swizzle_bytes: int) -> tuple[int, ...]:
    """What one copy takes, from the fastest dimension to the slowest."""
    row = swizzle_bytes * 8 // bit_width(type.element_type) if swizzle_bytes else _MAX_BOX
    fastest, *others = reversed(type.shape)
    return (min(fastest, row, _MAX_BOX), *(min(extent, _MAX_BOX) for extent in others))


def _make(op: MakeTensorDescOp, address: SSAValue, rewriter: Rewriter) -> None:
    type = op.result.type
    assert isinstance(type, TensorDescType)
    layout = type.encoding
    swizzle = layout.swizzling_byte_width if isinstance(layout, NvmmaSharedEncoding) else 0
    new: list[Operation] = []

    def constant(value: int, width: Attribute = i32) -> SSAValue:
        op = ConstantOp.of(value, width)
        new.append(op)
        return op.result

    size = constant(bit_width(type.element_type) // 8, i64)
    strides: list[SSAValue] = []
    for stride in reversed(op.strides[:-1]):
        scaled = MuliOp(stride, size)
        new.append(scaled)
        strides.append(scaled.result)
    extents = [constant(extent) for extent in box(type, swizzle)]
    ones = [constant(1) for _ in extents]
    is_zero = op.padding.value.data == _ZERO_PADDING
    new += [
        TensormapCreateOp(
            address,
            op.base,
            extents,
            list(reversed(op.shape)),
            strides,
            ones,
            elem_type=element_code(type.element_type),
            swizzle_mode=_SWIZZLE_MODES[swizzle],
            fill_mode=0 if is_zero else 1,
        ),
        TensormapFenceproxyAcquireOp(address),
        ReinterpretTensorDescOp(address, type),
    ]
    rewriter.replace_op(op, new)
