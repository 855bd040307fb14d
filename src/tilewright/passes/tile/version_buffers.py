"""Buffers with several versions: a new first dimension, one element of it for each version.

    %As = tile.alloc : memref<128x64xf16, #shared>   ->   memref<3x128x64xf16, #shared>

A user-specified layout applies to every version. Used by pipeline expansion and by warp
specialisation, which then work on ``tile.slot``s of the ring. Versions can also be buffers of
their own, where it is always known which one is meant.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import MemRefType, NoneAttr, StringAttr
from xdsl.ir import Attribute, SSAValue

from tilewright.dialects.tile import AllocOp, LayoutAttr
from tilewright.ir.rewrite import Rewriter


def version_buffer(buffer: SSAValue, versions: int, rewriter: Rewriter) -> SSAValue:
    """The ring of `versions` of a buffer, allocated beside it."""
    alloc = buffer.owner
    assert isinstance(alloc, AllocOp)  # only allocations are renamable
    type = alloc.type
    ring = AllocOp(
        MemRefType(type.element_type, (versions, *type.get_shape()), NoneAttr(), type.memory_space),
        name=None if alloc.name_hint is None else alloc.name_hint.data,
        layout=_repeated(alloc.layout, versions),
        safe_value=alloc.safe_value,
        dtype=None if alloc.dtype is None else alloc.dtype.data,
    )
    ring.is_private = alloc.is_private
    rewriter.insert_before(alloc, ring)
    ring.result.name_hint = buffer.name_hint
    return ring.result


def separate_versions(buffer: SSAValue, versions: int, rewriter: Rewriter) -> tuple[SSAValue, ...]:
    """The versions of a buffer as buffers of their own, allocated beside it."""
    alloc = buffer.owner
    assert isinstance(alloc, AllocOp)
    found: list[SSAValue] = []
    for version in range(versions):
        copy = alloc.clone()
        copy.properties["name_hint"] = StringAttr(f"{alloc.buffer_name}_{version}")
        rewriter.insert_before(alloc, copy)
        copy.result.name_hint = f"{buffer.name_hint or alloc.buffer_name}_{version}"
        found.append(copy.result)
    return tuple(found)


def _repeated(layout: Attribute | None, versions: int) -> LayoutAttr | None:
    if layout is None:
        return None
    assert isinstance(layout, LayoutAttr)  # fragments, which have other maps, are not renamable
    single = layout.data

    def each(version: Any, *indices: Any) -> tuple[Any, ...]:
        return version, *single.evaluate(*indices)

    return LayoutAttr.from_function((versions, *single.extents), each)


def drop_unused(buffer: SSAValue, rewriter: Rewriter) -> None:
    """Erase the allocation that a ring replaced, unless another loop still works in it."""
    alloc = buffer.owner
    assert isinstance(alloc, AllocOp)
    if buffer.first_use is None:
        rewriter.erase(alloc)
