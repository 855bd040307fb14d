"""The size of a memdesc type in its memory, for ``memory``: from shapes and layouts.

A type has two sizes. As an *array* its first dimension counts buffers, and placement
needs the distance between two of them (`buffer_of`). As *storage* all of it matters: the layout
describes the trailing dimensions and the leading ones repeat (`span_bits`).

Where a layout splits a tensor over the CTAs of a cluster, the share of one CTA counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from xdsl.ir import Attribute

from tilewright.dialects.tlx import DummyTMemLayout
from tilewright.dialects.ttg.cga import shape_per_cta
from tilewright.dialects.ttg.interfaces import MemDescEncoding
from tilewright.dialects.ttg.shared import (
    AmdRotatingSharedEncoding,
    NvmmaSharedEncoding,
    PaddedSharedEncoding,
    PartitionedSharedEncoding,
    SharedLinearEncoding,
    SwizzledSharedEncoding,
)
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import (
    TensorMemoryEncoding,
    TensorMemoryScalesEncoding,
    TensorMemorySpace,
    unwrapped,
)
from tilewright.dialects.type_utils import bit_width
from tilewright.memory import Buffer, Memory, UnitError, smem_buffer, tmem_buffer
from tilewright.memory.targets import TMEM_COLUMN_BITS
from tilewright.memory.units import (
    Nvmma,
    Padded,
    SharedLinear,
    SmemLayout,
    Swizzled,
    TmemLayout,
    TmemPlaceholder,
    TmemScales,
    TmemTile,
    element_bytes,
    smem_alignment,
    smem_unit,
    tmem_rows,
    tmem_unit,
)

_BYTE = 8


def memory_of(type: MemDescType) -> Memory:
    """The memory of `type`."""
    return Memory.TMEM if isinstance(type.memory_space, TensorMemorySpace) else Memory.SMEM


def buffer_of(name: str, type: MemDescType, source: str = "") -> Buffer:
    """The array of buffers that `type` stands for.

    Raises UnitError where layout and shape do not go together.
    """
    shape, bits = _shape(type), bits_of(type)
    if memory_of(type) is Memory.TMEM:
        return tmem_buffer(name, shape, bits, tmem_layout(type), source)
    return smem_buffer(name, shape, bits, smem_layout(type), source)


def bits_of(type: MemDescType) -> int:
    """The width of an element. Raises UnitError where it has none."""
    try:
        return bit_width(type.element_type)
    except TypeError as error:
        raise UnitError(str(error)) from None


def unit_of(type: MemDescType) -> int:
    """The distance between two buffers of the array `type`."""
    return buffer_of("", type).unit


def demand_of(type: MemDescType) -> int:
    """What hardware demands of the start of a buffer that is seen as `type`; 1 for nothing."""
    try:
        if memory_of(type) is Memory.TMEM:
            return buffer_of("", type).alignment
        # Without an extent only the requirement of the layout itself is left.
        return smem_alignment(1, smem_layout(type))
    except UnitError:
        return 1


def span_bits(type: MemDescType) -> int:
    """The storage of all of `type`, gaps included; of tensor memory, its columns."""
    shape, bits = _shape(type), bits_of(type)
    if memory_of(type) is Memory.TMEM:
        columns = tmem_unit(shape[-2], shape[-1], bits, tmem_layout(type))
        return prod(shape[:-2]) * columns * TMEM_COLUMN_BITS
    layout = smem_layout(type)
    tile, copies = shape[-type.layout_rank :], prod(shape[: -type.layout_rank])
    if isinstance(layout, Padded):
        # A gap that is farther away than the end of the tile is not part of it.
        elements = prod(tile)
        elements += sum(elements // interval * pad for interval, pad in layout.padding)
        return copies * elements * element_bytes(bits) * _BYTE
    return copies * smem_unit(tile, bits, layout) * _BYTE


def rows_of(type: MemDescType) -> int:
    """How many rows of tensor memory `type` keeps others away from."""
    rows, columns = _shape(type)[-2:]
    return tmem_rows(rows, columns, tmem_layout(type))


def _shape(type: MemDescType) -> tuple[int, ...]:
    layout = type.encoding
    assert isinstance(layout, MemDescEncoding), "checked by the type"
    return shape_per_cta(type.shape, layout.cga, layout.rank) if layout.cga else type.shape


def smem_layout(type: MemDescType) -> SmemLayout:
    """What matters of a layout of shared memory."""
    layout = unwrapped(type.encoding)
    if isinstance(layout, PartitionedSharedEncoding):
        layout = layout.partition_layout
    for kind, convert in _SMEM.items():
        if isinstance(layout, kind):
            return convert(layout)
    raise UnitError(f"no size is known for a buffer with the layout {layout}")


def tmem_layout(type: MemDescType) -> TmemLayout:
    """What matters of a layout of tensor memory."""
    layout = unwrapped(type.encoding)
    for kind, convert in _TMEM.items():
        if isinstance(layout, kind):
            return convert(layout)
    raise UnitError(f"no size is known for a buffer with the layout {layout}")


def _nvmma(layout: Attribute) -> SmemLayout:
    assert isinstance(layout, NvmmaSharedEncoding)
    return Nvmma(layout.swizzling_byte_width, layout.fp4_padded)


def _padded(layout: Attribute) -> SmemLayout:
    assert isinstance(layout, PaddedSharedEncoding)
    return Padded(tuple(zip(layout.intervals, layout.paddings, strict=True)))


def _linear(layout: Attribute) -> SmemLayout:
    assert isinstance(layout, SharedLinearEncoding)
    return SharedLinear(layout.alignment)


def _tile(layout: Attribute) -> TmemLayout:
    assert isinstance(layout, TensorMemoryEncoding)
    return TmemTile(
        layout.block_m,
        layout.block_n,
        layout.col_stride,
        layout.cta_mode,
        layout.two_ctas,
        layout.fp4_padded,
    )


_SMEM: Mapping[type, Callable[[Attribute], SmemLayout]] = {
    SwizzledSharedEncoding: lambda _: Swizzled(),
    AmdRotatingSharedEncoding: lambda _: Swizzled(),
    NvmmaSharedEncoding: _nvmma,
    PaddedSharedEncoding: _padded,
    SharedLinearEncoding: _linear,
}
_TMEM: Mapping[type, Callable[[Attribute], TmemLayout]] = {
    TensorMemoryEncoding: _tile,
    TensorMemoryScalesEncoding: lambda _: TmemScales(),
    DummyTMemLayout: lambda _: TmemPlaceholder(),
}
