"""Views of buffers: one of several, a part, another order of dimensions, another type.

None of them accesses the memory; each is another descriptor of the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

from xdsl.ir import SSAValue

from tilewright.dialects.tlx import RequireLayoutOp, UserLayout
from tilewright.dialects.ttg import (
    LayoutEncoding,
    MemDescDynamicSubsliceOp,
    MemDescReinterpretOp,
    MemDescReshapeOp,
    MemDescSubsliceOp,
    MemDescTransOp,
    MemDescType,
)
from tilewright.dialects.ttng import MapToRemoteBufferOp, TMEMSubSliceOp
from tilewright.dialects.ttng.attributes import unwrapped
from tilewright.frontend.builder import current
from tilewright.language.tl.constexpr import unwrap
from tilewright.language.tl.dtypes import dtype
from tilewright.language.tl.operands import indices
from tilewright.language.tl.tensor import Operand, tensor
from tilewright.language.tlx.layouts import (
    nv_mma_shared_layout_encoding,
    shared_layout_encoding,
    swizzled_shared_layout_encoding,
)
from tilewright.language.tlx.storage import (
    buffered_tensor,
    clc_response,
    mbarrier,
    storage_kind,
)

_Array = TypeVar("_Array", buffered_tensor, mbarrier, clc_response)


def local_view(local_allocated_buffers: _Array, buffer_idx: Operand) -> _Array:
    """Buffer number `buffer_idx` of an array; ``buffers[i]`` is the same."""
    return local_allocated_buffers[buffer_idx]


def remote_view(local_allocated_buffer: mbarrier, remote_cta_rank: Operand) -> mbarrier:
    """The barrier at the same offset in another CTA of the cluster."""
    barrier = local_allocated_buffer
    if not isinstance(barrier, mbarrier):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError("remote_view only supports barrier for now")
    if barrier.type.storage != storage_kind.smem:
        raise AssertionError("remote_view requires local smem as input")
    rank = indices((remote_cta_rank,))[0]
    op = current().insert(MapToRemoteBufferOp(barrier.handle, rank.handle))
    return mbarrier(op.result, 0, barrier.layout, storage_kind.smemCluster)


def subslice(local_allocated_buffer: buffered_tensor, offset: int, size: int) -> buffered_tensor:
    """Columns `offset` to `offset + size` of a buffer in tensor memory."""
    buffer, start, extent = local_allocated_buffer, unwrap(offset), unwrap(size)
    if buffer.type.storage != storage_kind.tmem:
        raise AssertionError("subslice is only supported for tmem")
    dim = buffer.ir_type.rank - 1
    op = current().insert(TMEMSubSliceOp(buffer.handle, start, extent, dim))
    return buffer.viewed(op.result, (*buffer.shape[:-1], extent), num=buffer.num)


def local_slice(
    buffer: buffered_tensor, offset: Sequence[Operand], shape: Sequence[int]
) -> buffered_tensor:
    """The part of `buffer` of `shape` that starts at `offset`.

    Offsets in shared memory may be known when the kernel runs; in tensor memory only columns can
    be cut, at offsets known now.
    """
    starts, extents = unwrap(tuple(offset)), tuple(unwrap(tuple(shape)))
    known = [start for start in starts if not isinstance(start, tensor)]
    is_dynamic = len(known) < len(starts)
    if buffer.type.storage == storage_kind.tmem:
        if is_dynamic:
            raise AssertionError("runtime local_slice offsets are only supported for SMEM")
        if len(known) != 2 or known[0] != 0 or len(extents) != 2 or extents[0] != buffer.shape[0]:
            raise AssertionError(
                "local_slice in tensor memory cuts columns: offset must be [0, column] and shape "
                f"[{buffer.shape[0]}, columns], got {known} and {list(extents)}"
            )
        return subslice(buffer, int(known[1]), extents[1])
    if not len(starts) == len(extents) == len(buffer.shape):
        raise AssertionError("local_slice offset and shape must match the source rank")
    if is_dynamic:
        positions = [each.handle for each in indices(starts)]
        type = _part(buffer.ir_type, extents)
        handle = current().insert(MemDescDynamicSubsliceOp(buffer.handle, positions, type)).result
    else:
        source = concrete(buffer)
        type = _part(_memdesc(source), extents)
        op = MemDescSubsliceOp(source, [int(start) for start in known], type)
        handle = current().insert(op).result
    return buffer.viewed(handle, extents)


def _memdesc(handle: SSAValue) -> MemDescType:
    assert isinstance(handle.type, MemDescType)
    return handle.type


def _part(type: MemDescType, shape: Sequence[int]) -> MemDescType:
    return type.with_shape(tuple(shape), type.alloc_shape)


def concrete(buffer: buffered_tensor) -> SSAValue:
    """`buffer` in the layout itself without the user's layout mark: views are built from that."""
    layout = buffer.ir_type.encoding
    if unwrapped(layout) == layout:
        return buffer.handle
    return current().insert(RequireLayoutOp(buffer.handle, unwrapped(layout))).result


def local_trans(input: buffered_tensor, dims: Sequence[int] = (1, 0)) -> buffered_tensor:
    """`input` with its dimensions in another order: dimension ``dims[i]`` becomes ``i``."""
    order = unwrap(tuple(dims))
    if len(input.shape) != len(order):
        raise ValueError("permute dims must have the same length as input shape")
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"permute dims must be a permutation of 0, 1, ..., n-1, but were {dims}")
    layout = input.type.layout
    if not isinstance(layout, shared_layout_encoding):
        raise TypeError(f"{input} is not a buffer that can be transposed")
    permuted = layout.make_permute(order)
    source = input.ir_type
    encoding = source.encoding
    turned = (
        encoding.after_trans(source.shape, order) if isinstance(encoding, LayoutEncoding) else None
    )
    if turned is None:
        raise ValueError(
            f"a buffer of layout {encoding} cannot be viewed with dimensions {list(order)}: only "
            "two dimensions can be exchanged, with dims=(1, 0)"
        )
    shape = tuple(source.shape[dim] for dim in order)
    outer = len(source.alloc_shape) - source.rank
    alloc = (
        *source.alloc_shape[:outer],
        *(source.alloc_shape[outer + dim] for dim in order),
    )
    type = replace(source, shape=shape, alloc_shape=alloc, encoding=turned)
    handle = current().insert(MemDescTransOp(input.handle, order, type)).result
    return input.viewed(handle, shape, num=input.num, layout=permuted)


def local_reshape(src: buffered_tensor, shape: Sequence[int]) -> buffered_tensor:
    """The same elements of shared memory in another shape."""
    if not isinstance(src, buffered_tensor) or src.type.storage != storage_kind.smem:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError("TLX local_reshape only supports SMEM")
    extents = tuple(unwrap(tuple(shape)))
    if prod(extents) != prod(src.shape):
        raise ValueError(
            f"cannot reshape a buffer of {prod(src.shape)} elements, {list(src.shape)}, to "
            f"{list(extents)} of {prod(extents)}"
        )
    source = concrete(src)
    before = _memdesc(source)
    layout = _reshaped(src, before, extents)
    outer = before.alloc_shape[: len(before.alloc_shape) - before.rank]
    type = replace(before, shape=extents, alloc_shape=(*outer, *extents), encoding=layout.to_ir())
    handle = current().insert(MemDescReshapeOp(source, type)).result
    return src.viewed(handle, extents, num=src.num, layout=layout)


def _reshaped(
    buffer: buffered_tensor, type: MemDescType, shape: tuple[int, ...]
) -> shared_layout_encoding:
    """The layout of a reshaped buffer: rows that stay whole keep their layout."""
    layout = buffer.type.layout
    is_whole = shape[-1:] == type.shape[-1:]
    if isinstance(layout, nv_mma_shared_layout_encoding) and is_whole and len(shape) > 1:
        rank = len(shape)
        ones = (1,) * rank
        order = tuple(reversed(range(rank)))
        return replace(
            layout, shape=shape, order=order, numCTAsPerCGA=ones, numCTASplit=ones, numCTAOrder=ones
        )
    return swizzled_shared_layout_encoding.make_default(len(shape))


def local_reinterpret(
    src: buffered_tensor,
    dtype: dtype,
    shape: Sequence[int] | None = None,
    layout: shared_layout_encoding | None = None,
    pin: bool = True,
) -> buffered_tensor:
    """The bytes of `src` as elements of another type, and perhaps in another shape or layout."""
    element, chosen, is_pinned = unwrap(dtype), unwrap(layout), unwrap(pin)
    is_shared = isinstance(src, buffered_tensor) and src.type.storage == storage_kind.smem  # pyright: ignore[reportUnnecessaryIsInstance]
    if shape is not None and not is_shared:
        raise AssertionError("TLX local_reinterpret with reshaping only supports SMEM")
    if chosen is not None and not is_shared:
        raise AssertionError("TLX local_reinterpret with an explicit layout only supports SMEM")
    extents = src.shape if shape is None else tuple(unwrap(tuple(shape)))
    encoding = src.ir_type.encoding
    if chosen is not None:
        encoding = UserLayout(chosen.to_ir()) if is_pinned else chosen.to_ir()
    type = replace(
        src.ir_type,
        shape=tuple(extents),
        alloc_shape=tuple(extents),
        element_type=element.to_ir(),
        encoding=encoding,
    )
    handle = current().insert(MemDescReinterpretOp(src.handle, type)).result
    return src.viewed(handle, extents, num=src.num, element_ty=element, layout=chosen)
