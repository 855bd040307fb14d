"""Which bytes of its allocation a buffer is.

Every allocation is a memory of its own: two never share bytes, all sharing is within one. Shared
memory is a row of bytes; tensor memory is 128 rows of columns, one row after the other. Elements of
a tile are counted in row-major order, because how hardware permutes them within a tile does not
change which bytes the tile takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, TypeAlias

from xdsl.ir import Operation

from tilewright.analysis.ordering import ByteRegion, StridedBytes
from tilewright.dialects.ttg.types import MemDescType
from tilewright.dialects.ttng.attributes import TensorMemoryEncoding, unwrapped
from tilewright.ir.text.locations import find_name
from tilewright.memory import Memory
from tilewright.memory.targets import TMEM_COLUMN_BYTES, TMEM_ROWS
from tilewright.passes.tlx.storage_alias.buffers import bits_of, memory_of, rows_of, span_bits

_BYTE = 8
Levels: TypeAlias = tuple[tuple[int | None, int], ...]


class OutOfBounds(Exception):
    """A view of bytes that the buffer does not have."""


@dataclass(frozen=True)
class Storage:
    """An allocation of one CTA."""

    index: int
    name: str
    position: int
    size: int
    """Bytes, all rows."""
    pitch: int = 0
    """Bytes of a row of tensor memory, 0 for shared memory."""
    cta: int = 0

    @property
    def key(self) -> tuple[int, int]:
        return self.cta, self.index

    @property
    def is_tensor_memory(self) -> bool:
        return self.pitch > 0


@dataclass(frozen=True)
class View:
    """Some bytes of an allocation as a tensor."""

    storage: Storage
    name: str
    owner: str
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item: int
    """Bytes of an element."""
    block: tuple[int, int] | None = None
    """Rows and bytes of each row, where a tile of tensor memory is not plain."""
    levels: Levels = ()
    """Radices and strides of the first dimension, where it is not a single stride."""

    @property
    def size_bytes(self) -> int:
        return prod(self.shape) * self.item

    @property
    def key(self) -> tuple[int, int, int]:
        """Of the barrier that begins here."""
        return (*self.storage.key, self.start)

    def region(self) -> ByteRegion:
        return ByteRegion(
            self.storage.key, self.name, self.owner, self.cells, self.storage.position
        )

    def cells(self, table: Any) -> Any:
        """The entries of a table with one per byte of the allocation."""
        if self.block is not None:
            own = StridedBytes(self.start, self.block, (self.storage.pitch, 1))
        else:
            own = StridedBytes.of_tile(self.start, self.shape, self.strides, self.item)
        if own.last >= table.size:
            raise OutOfBounds(f"{self.name} extends past the end of {self.storage.name}")
        return own.cells(table)

    def index(self, index: int) -> View:
        """One of several buffers; of a row of single elements, a row of one."""
        if not 0 <= index < self.shape[0]:
            raise OutOfBounds(f"{self.name}[{index}] is out of bounds: {self.shape[0]} buffers")
        keeps = len(self.shape) == 1
        return replace(
            self,
            name=f"{self.name}[{index}]",
            start=self.start + self._step(index),
            shape=(1,) if keeps else self.shape[1:],
            strides=self.strides if keeps else self.strides[1:],
            levels=(),
        )

    def _step(self, index: int) -> int:
        if not self.levels:
            return index * self.strides[0]
        total = 0
        for radix, stride in self.levels:
            total += (index if radix is None else index % radix) * stride
            index = 0 if radix is None else index // radix
        return total

    def slice(self, starts: Sequence[int], shape: tuple[int, ...]) -> View:
        """A part; leading dimensions may be dropped."""
        dropped = len(self.shape) - len(shape)
        extents = (1,) * dropped + shape
        for start, extent, whole in zip(starts, extents, self.shape, strict=True):
            if not 0 <= start <= whole - extent:
                part = f"{start}:{start + extent} of {self.name}{list(self.shape)}"
                raise OutOfBounds(f"slice {part} is out of bounds")
        if self.block is not None and extents != self.shape:
            raise OutOfBounds(f"slice of {self.name}, whose tile is not row-major")
        listed = ", ".join(f"{i}:{i + n}" for i, n in zip(starts, extents, strict=True))
        return replace(
            self,
            name=f"{self.name}[{listed}]",
            start=self.start + sum(i * s for i, s in zip(starts, self.strides, strict=True)),
            shape=shape,
            strides=self.strides[dropped:],
        )

    def transposed(self, order: Sequence[int]) -> View:
        return replace(
            self,
            shape=tuple(self.shape[axis] for axis in order),
            strides=tuple(self.strides[axis] for axis in order),
        )

    def reshaped(self, shape: tuple[int, ...]) -> View:
        """The same bytes in another shape; only whole tiles without gaps can be."""
        strides = _steps(self.shape, self.item)
        if self.block is None and self.strides != strides:
            raise OutOfBounds(f"{self.name} is not contiguous and cannot be reshaped in place")
        return replace(self, shape=shape, strides=_steps(shape, self.item))

    def seen_as(self, type: MemDescType, name: str) -> View:
        """The same bytes as a buffer of another type."""
        shape, strides, item, block = kind_of(type, self.storage.pitch)
        return replace(
            self,
            name=name or self.name,
            shape=shape,
            strides=strides,
            item=item,
            block=block,
            levels=(),
        )

    def placed(self, type: MemDescType, name: str, offset: int, levels: Levels) -> View:
        """Buffers at given addresses of this one, which are a buffer of their own."""
        view = self.seen_as(type, name)
        return replace(view, start=self.start + offset, levels=levels, owner=view.name)

    def at_rank(self, rank: int, count: int) -> View:
        """The same offset in another CTA of the cluster."""
        if not 0 <= rank < count:
            raise OutOfBounds(f"CTA rank {rank} is out of range in a cluster of {count}")
        return replace(self, storage=replace(self.storage, cta=rank))


def _steps(shape: Sequence[int], unit: int) -> tuple[int, ...]:
    """Strides of dimensions in row-major order."""
    return tuple(unit * prod(shape[axis + 1 :]) for axis in range(len(shape)))


Kind: TypeAlias = tuple[tuple[int, ...], tuple[int, ...], int, tuple[int, int] | None]


def kind_of(type: MemDescType, pitch: int) -> Kind:
    """Shape, strides in bytes, bytes of an element, and what is in place of strides."""
    item = -(-bits_of(type) // _BYTE)
    if memory_of(type) is Memory.TMEM:
        return _tensor_memory(type, item, pitch)
    copies, tile = type.shape[: -type.layout_rank], type.shape[-type.layout_rank :]
    unit = span_bits(type) // _BYTE // prod(copies)
    return type.shape, (*_steps(copies, unit), *_steps(tile, item)), item, None


def _tensor_memory(type: MemDescType, item: int, pitch: int) -> Kind:
    copies = type.shape[:-2]
    unit = span_bits(type) // _BYTE // prod(copies)
    rows, columns = type.shape[-2:]
    layout = unwrapped(type.encoding)
    spread = layout.col_stride if isinstance(layout, TensorMemoryEncoding) else 1
    fits = rows <= TMEM_ROWS and columns * item * spread <= unit
    is_plain = isinstance(layout, TensorMemoryEncoding) and fits and not layout.fp4_padded
    block = None if is_plain else (min(rows_of(type), TMEM_ROWS), unit)
    return type.shape, (*_steps(copies, unit), pitch, item * spread), item, block


def whole(type: MemDescType, index: int, name: str, position: int, cta: int) -> View:
    """A fresh allocation."""
    size = span_bits(type) // _BYTE
    pitch = size if memory_of(type) is Memory.TMEM else 0
    storage = Storage(index, name, position, size * (TMEM_ROWS if pitch else 1), pitch, cta)
    shape, strides, item, block = kind_of(type, pitch)
    return View(storage, name, name, 0, shape, strides, item, block)


def unit_bytes(type: MemDescType) -> int:
    """What addresses of `tlx.placed_alias` are counted in."""
    return TMEM_COLUMN_BYTES if memory_of(type) is Memory.TMEM else 1


def name_of(op: Operation) -> str:
    """The source name of the first result of an op; empty if it has none."""
    return op.results[0].name_hint or find_name(op.location) or ""
