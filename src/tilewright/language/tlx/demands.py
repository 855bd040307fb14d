"""Layouts that instructions, or the user, demand of values.

TMA and matrix instructions can use buffers in certain layouts only. A ``tlx.require_layout``
expresses which; later the compiler gives the allocation that layout, or converts. `require_layout`
and `release_layout` are the same in the hands of the user.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.tlx import NoVerifyLayout, ReleaseLayoutOp, RequireLayoutOp, UserLayout
from tilewright.dialects.ttg import MemDescType
from tilewright.dialects.ttng.attributes import TensorMemoryScalesEncoding, unwrapped
from tilewright.frontend.builder import current
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.tensor import tensor
from tilewright.language.tlx.layouts import (
    TMemCTAMode,
    layout_encoding,
    nv_mma_shared_layout_encoding,
    shared_layout_encoding,
    shared_linear_layout_encoding,
    tensor_memory_layout_encoding,
    tensor_memory_scales_layout_encoding,
)
from tilewright.language.tlx.register_layouts import register_encoding
from tilewright.language.tlx.storage import buffered_tensor, storage_kind


def require(value: SSAValue, layout: Attribute) -> SSAValue:
    """`value` in `layout`."""
    type = value.type
    if isinstance(type, MemDescType) and isinstance(layout, TensorMemoryScalesEncoding):
        # Scales have no columns that a view could leave out.
        expected = replace(type, encoding=layout, alloc_shape=type.shape)
        op = RequireLayoutOp.build(operands=[value], result_types=[expected])
    else:
        op = RequireLayoutOp(value, layout)
    return current().insert(op).result


def require_registers(value: SSAValue, layout: Attribute, *, pin: bool = False) -> SSAValue:
    """The tensor `value` in `layout`, which is compared with others only when all are known."""
    plain = unwrapped(layout)
    return require(value, NoVerifyLayout(UserLayout(plain) if pin else plain))


def release(value: SSAValue) -> SSAValue:
    """The tensor `value` in any layout."""
    return current().insert(ReleaseLayoutOp(value)).result


def require_nv_mma_shared(
    buffer: buffered_tensor, *, swizzled: bool, fp4_padded: bool = False
) -> SSAValue:
    """`buffer` in the layout that TMA and matrix instructions know."""
    layout = buffer.type.layout
    if not isinstance(layout, shared_layout_encoding):
        raise AssertionError("input must be a shared tensor")
    if isinstance(layout, shared_linear_layout_encoding):
        return require(buffer.handle, layout.to_ir())
    rank = len(buffer.shape)
    ones = (1,) * rank
    order = getattr(layout, "order", tuple(reversed(range(rank))))
    expected = nv_mma_shared_layout_encoding(
        buffer.shape, order, buffer.dtype, ones, ones, ones, fp4_padded, swizzled
    )
    return require(buffer.handle, expected.to_ir())


def require_tmem(buffer: buffered_tensor, mode: TMemCTAMode = TMemCTAMode.DEFAULT) -> SSAValue:
    """`buffer` as an operand or accumulator in tensor memory: elements next to each other."""
    layout = buffer.type.layout
    if buffer.type.storage != storage_kind.tmem or not isinstance(
        layout, tensor_memory_layout_encoding
    ):
        raise AssertionError("input must be a TMEM tensor")
    if layout.colStride == 1 and layout.ctaMode == mode:
        return buffer.handle
    return require(buffer.handle, replace(layout, colStride=1, ctaMode=mode).to_ir())


def require_tmem_scales(buffer: buffered_tensor) -> SSAValue:
    """`buffer` in tensor memory in the arrangement of scale factors."""
    if buffer.type.storage != storage_kind.tmem:
        raise AssertionError("input must be a TMEM tensor")
    return require(buffer.handle, tensor_memory_scales_layout_encoding.make_default().to_ir())


# -- by the user ------------------------------------------------------------------------------


def require_layout(
    x: tensor,
    layout: layout_encoding,
    pin: bool = True,
    late_address_compute: bool = False,
) -> tensor:
    """`x` in a layout; with `pin` no pass may choose another."""
    is_pinned, is_late = unwrap(pin), unwrap(late_address_compute)
    if not isinstance(is_pinned, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError(f"pin must be a constexpr bool, got {type(is_pinned).__name__}")
    if not isinstance(is_late, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError(
            f"late_address_compute must be a constexpr bool, got {type(is_late).__name__}"
        )
    encoding = register_encoding(unwrap(layout), x.shape, x.dtype)
    handle = require_registers(x.handle, encoding, pin=is_pinned)
    if is_late:
        owner = handle.owner
        owner_attributes = getattr(owner, "attributes")  # noqa: B009 - an op, just inserted
        owner_attributes["tlx.rematerialize_coordinates"] = UnitAttr()
    return tensor(handle, x.type)


def release_layout(x: tensor) -> tensor:
    """`x` in any layout."""
    if not isinstance(x, tensor) or not x.type.is_block():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError("x must be a distributed tensor")
    return tensor(release(x.handle), x.type)
