"""Where buffers are allocated: the layout in bytes of each buffer type, an offset per allocation.

Buffers that share a storage-alias spec have been placed by then (`tlx-storage-alias-lowering`):
they are views of one allocation. Allocations follow each other in the order of the program, each
at the alignment that its layout requires; none shares bytes with another.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import Operation

from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttg.shared import NvmmaSharedEncoding, SwizzledSharedEncoding
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import TensorMemoryEncoding, unwrapped
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.memory import Memory, UnitError
from tilewright.memory.targets import TMEM_ALLOCATION_GRANULE, TMEM_COLUMN_BYTES, TMEM_ROWS
from tilewright.passes.tlx.storage_alias.buffers import memory_of, rows_of, span_bits
from tilewright.targets.numpy.dtypes import scalar_type
from tilewright.targets.numpy.tasks.support.arena import Allocation, ArenaKind

_BYTE = 8


@dataclass
class Placement:
    """Allocations so far."""

    smem_bytes: int = 0
    tmem_columns: int = 0
    allocations: list[Allocation] = field(default_factory=list[Allocation])
    indices: dict[Operation, int] = field(default_factory=dict[Operation, int])
    """By the op that makes them."""

    def add(self, op: LocalAllocOp | TMEMAllocOp, name: str, source_id: int) -> None:
        """Append an allocation at the next free offset."""
        type = op.results[0].type
        assert isinstance(type, MemDescType)
        size = span_bits(type) // _BYTE
        if isinstance(op, LocalAllocOp):
            offset = _aligned(self.smem_bytes, op.alignment_bytes)
            self.smem_bytes = offset + size
        else:
            column = _aligned(self.tmem_columns, TMEM_ALLOCATION_GRANULE)
            self.tmem_columns = column + size // TMEM_COLUMN_BYTES
            offset = column * TMEM_COLUMN_BYTES
        self.indices[op] = len(self.allocations)
        self.allocations.append(Allocation(name, kind_of(type, 0), offset, size, source_id))

    def with_pitch(self) -> tuple[Allocation, ...]:
        """The allocations, once the length of a row of tensor memory is known."""
        pitch = self.tmem_columns * TMEM_COLUMN_BYTES
        return tuple(
            Allocation(
                each.name, with_pitch(each.kind, pitch), each.offset, each.size, each.source_id
            )
            for each in self.allocations
        )


def _aligned(value: int, alignment: int) -> int:
    return -(-value // alignment) * alignment


def dtype_of(type: MemDescType) -> np.dtype[Any]:
    """Of an element; what NumPy has no number for is a row of bytes."""
    found = scalar_type(type)
    if found is not None:
        return found.dtype
    element = type.element_type
    if isinstance(element, IntegerType):
        return np.dtype(f"V{-(-element.width.data // _BYTE)}")
    raise UnitError(f"type '{element}' has no equivalent in NumPy")


def kind_of(type: MemDescType, pitch: int) -> ArenaKind:
    """The layout of a type in bytes; rows of tensor memory are `pitch` apart, -1 if not known."""
    dtype = dtype_of(type)
    if memory_of(type) is Memory.TMEM:
        return with_pitch(_tensor_memory(type, dtype), pitch)
    copies, tile = type.shape[: -type.layout_rank], type.shape[-type.layout_rank :]
    unit = span_bits(type) // _BYTE // prod(copies)
    strides = (*_steps(copies, unit), *_steps(tile, dtype.itemsize))
    return ArenaKind(type.shape, strides, dtype, layout=_permutation(type, dtype.itemsize))


def _permutation(type: MemDescType, itemsize: int) -> str:
    """What the bytes of a tile of shared memory are permuted by; empty if by nothing."""
    tile, layout = type.shape[-type.layout_rank :], type.encoding
    if len(tile) == 1:
        return ""
    row_bytes = tile[-1] * itemsize
    if isinstance(layout, NvmmaSharedEncoding) and not layout.fp4_padded:
        rows = prod(tile[:-1])
        order = "columns" if layout.transposed else "rows"
        return f"{layout.swizzling_byte_width}-byte swizzle of {rows} {order} of {row_bytes} bytes"
    if isinstance(layout, SwizzledSharedEncoding) and _is_row_major(layout):
        return ""
    return f"{layout} of {'x'.join(map(str, tile))} elements of {itemsize} bytes"


def _is_row_major(layout: SwizzledSharedEncoding) -> bool:
    return layout.max_phase == 1 and layout.order == tuple(reversed(range(len(layout.order))))


def _steps(shape: tuple[int, ...], unit: int) -> tuple[int, ...]:
    """Strides of dimensions in row-major order."""
    return tuple(unit * prod(shape[axis + 1 :]) for axis in range(len(shape)))


_ROW = -1
"""Stands for the length of a row of tensor memory until that is known."""


def _tensor_memory(type: MemDescType, dtype: np.dtype[Any]) -> ArenaKind:
    copies = type.shape[:-2]
    unit = span_bits(type) // _BYTE // prod(copies)
    rows, columns = type.shape[-2:]
    layout = unwrapped(type.encoding)
    spread = layout.col_stride if isinstance(layout, TensorMemoryEncoding) else 1
    step = dtype.itemsize * spread
    fits = rows <= TMEM_ROWS and columns * step <= unit
    is_plain = isinstance(layout, TensorMemoryEncoding) and fits and not layout.fp4_padded
    strides = (*_steps(copies, unit), _ROW, step)
    block = None if is_plain else (min(rows_of(type), TMEM_ROWS), unit)
    shown = "" if is_plain else f"{layout} of {rows}x{columns} elements of {dtype.itemsize} bytes"
    return ArenaKind(type.shape, strides, dtype, in_tensor_memory=True, block=block, layout=shown)


def with_pitch(kind: ArenaKind, pitch: int) -> ArenaKind:
    """`kind` with the length of a row filled in."""
    if not kind.in_tensor_memory or not pitch:
        return kind
    strides = tuple(pitch if stride == _ROW else stride for stride in kind.strides)
    return ArenaKind(kind.shape, strides, kind.dtype, True, kind.block, kind.layout)
