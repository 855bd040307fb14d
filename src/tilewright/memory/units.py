"""How far apart two consecutive buffers of one allocation are, and what their view demands.

An allocation is `count` equally shaped buffers. All placement is arithmetic on one number, its
*unit*: the distance that one step of ``ttg.memdesc_index`` advances, in bytes of shared memory or
32-bit columns of tensor memory. The functions below derive it from shape, element width and the
few parameters of the layout that matter; they know numbers, not IR attributes.

Columns, not bytes, because two tensor-memory tiles of equal bytes can cover different columns: a
tile of 64 rows leaves half of each column empty, scale factors are repeated for every warp, and
``colStride`` spreads narrow elements.

Shapes are those of one CTA. Where a type describes the tensor of a whole cluster, divide first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from tilewright.memory.targets import (
    SMEM_BASE_ALIGNMENT,
    SMEM_SIBLING_ALIGNMENT,
    SWIZZLE_ATOM_ROWS,
    TMEM_COLUMN_BITS,
    TMEM_COLUMN_BYTES,
    TMEM_HALF_ROWS,
    TMEM_ROWS,
    TMEM_SCALES_ALIGNMENT,
    Memory,
)

POINTER_BITS = 64
"""The width of a pointer element."""


class UnitError(ValueError):
    """A shape and a layout that do not go together. `rule` is set where a diagnostic names it."""

    def __init__(self, message: str, rule: str | None = None) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(frozen=True)
class Swizzled:
    """Rows permuted by software, or not at all: ``swizzled_shared``, ``amd_rotating_shared``."""


@dataclass(frozen=True)
class Nvmma:
    """Tiles permuted by the hardware: what TMA writes and matrix instructions read."""

    swizzle_bytes: int
    fp4_padded: bool = False


@dataclass(frozen=True)
class Padded:
    """`padding` holds (interval, pad): after every `interval` elements, `pad` unused ones."""

    padding: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class SharedLinear:
    """An arbitrary linear map of addresses that requires an alignment of its own."""

    alignment: int = SMEM_BASE_ALIGNMENT


@dataclass(frozen=True)
class TmemTile:
    """``tensor_memory_encoding``: blocks of `block_m` rows and `block_n` columns of elements."""

    block_m: int
    block_n: int
    col_stride: int = 1
    cta_mode: str = "default"
    two_ctas: bool = False
    fp4_padded: bool = False


@dataclass(frozen=True)
class TmemScales:
    """Scale factors of a block-scaled MMA, repeated for each of four warps."""


@dataclass(frozen=True)
class TmemPlaceholder:
    """Tensor memory whose layout is chosen later."""


SmemLayout: TypeAlias = Swizzled | Nvmma | Padded | SharedLinear
TmemLayout: TypeAlias = TmemTile | TmemScales | TmemPlaceholder


def align_up(value: int, alignment: int) -> int:
    """The smallest multiple of `alignment` that is not below `value`."""
    return -(-value // alignment) * alignment


def is_power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def element_bytes(bits: int) -> int:
    """Bytes of one element that is `bits` wide."""
    return -(-bits // 8)


def smem_unit(tile: Sequence[int], bits: int, layout: SmemLayout) -> int:
    """Bytes between two buffers of shape `tile`."""
    elements = prod(tile)
    if isinstance(layout, Nvmma) and layout.fp4_padded:
        elements *= 2
    if isinstance(layout, Padded):
        elements += sum(_pads(elements, interval) * pad for interval, pad in layout.padding)
    return element_bytes(bits) * elements


def _pads(elements: int, interval: int) -> int:
    """The number of `interval`s in `elements`. Steps are even only without a remainder."""
    if elements % interval:
        raise UnitError(
            f"padding every {interval} elements does not divide a buffer of {elements} elements; "
            "consecutive buffers are not equally far apart"
        )
    return elements // interval


def smem_alignment(unit: int, layout: SmemLayout) -> int:
    """The power of two at a multiple of which each buffer has to start.

    Hardware swizzling looks at absolute address bits; software only needs its widest vector
    access, which never reaches across the end of a buffer.
    """
    if isinstance(layout, Nvmma):
        return max(SMEM_SIBLING_ALIGNMENT, SWIZZLE_ATOM_ROWS * layout.swizzle_bytes)
    if isinstance(layout, SharedLinear):
        return layout.alignment
    return min(SMEM_BASE_ALIGNMENT, unit & -unit)


def tmem_unit(rows: int, columns: int, bits: int, layout: TmemLayout) -> int:
    """Columns of 32 bits between two buffers of `rows` x `columns` elements."""
    if isinstance(layout, TmemScales):
        return 2 * -(-rows // TMEM_HALF_ROWS) * -(-columns // 4)
    if isinstance(layout, TmemPlaceholder):
        return -(-rows // 32) * -(-columns // 4)
    if rows < layout.block_m:
        raise UnitError(f"a tile of {rows} rows is smaller than its block of {layout.block_m}")
    elements = _tile_elements(rows, columns, layout) * (2 if layout.fp4_padded else 1)
    # A tile narrower than one column still occupies it.
    return max(1, -(-elements * bits // TMEM_COLUMN_BITS))


def _tile_elements(rows: int, columns: int, tile: TmemTile) -> int:
    """Contiguous elements in one row of tensor memory, gaps of the column stride included."""
    spread = tile.col_stride * columns
    if tile.cta_mode == "twocta_rhs":
        return columns * rows // TMEM_ROWS
    if tile.cta_mode == "twocta_lhs":
        return spread * rows // TMEM_HALF_ROWS
    if _is_half_height(rows, columns, tile):
        return spread
    return spread * rows // TMEM_ROWS


def _is_half_height(rows: int, columns: int, tile: TmemTile) -> bool:
    """Whether the tile leaves every other group of 16 rows empty.

    It does when there is a single block of 64 rows; a second one, or the half of the other CTA,
    takes the empty rows.
    """
    alone = tile.cta_mode == "default" and not tile.two_ctas and tile.block_n >= columns
    return alone and tile.block_m == TMEM_HALF_ROWS and rows == TMEM_HALF_ROWS


def tmem_rows(rows: int, columns: int, layout: TmemLayout) -> int:
    """How many rows of tensor memory a tile keeps others away from: 64 or 128."""
    if isinstance(layout, TmemTile) and _is_half_height(rows, columns, layout):
        return TMEM_HALF_ROWS
    return TMEM_ROWS


def tmem_alignment(unit: int, layout: TmemLayout) -> int:
    """The column at a multiple of which each buffer has to start."""
    return min(TMEM_SCALES_ALIGNMENT, unit) if isinstance(layout, TmemScales) else 1


def tmem_declared_shape(shape: Sequence[int], bits: int, layout: TmemLayout) -> tuple[int, int]:
    """Rows and 32-bit columns that the shape alone suggests for the whole array.

    This is the shape in the IR of a region. It disregards the column stride, so it can
    be less than what the buffers cover; what they cover decides about space.
    """
    rows, columns = shape[-2], shape[-1] * prod(shape[:-2])
    size = element_bytes(bits)
    if size >= TMEM_COLUMN_BYTES:
        columns *= size // TMEM_COLUMN_BYTES
    else:
        columns = -(-columns // (TMEM_COLUMN_BYTES // size))
    if isinstance(layout, TmemTile) and layout.cta_mode == "twocta_rhs":
        return rows * 2, columns // 2
    if isinstance(layout, TmemTile) and layout.cta_mode == "twocta_lhs":
        return rows * 2, columns
    return rows, columns


@dataclass(frozen=True)
class Buffer:
    """One allocation as placement sees it: `count` buffers, `unit` apart when packed.

    `name` is unique within a region. `alignment` is what the view demands of each buffer's start.
    `rows` and `declared` (rows, columns of the whole array) matter in tensor memory only.
    `is_indexed` is whether a leading dimension counts the buffers; without one the array
    cannot be re-indexed, so it may not appear in a tree.
    """

    name: str
    memory: Memory
    count: int
    unit: int
    element_bytes: int = 1
    alignment: int = 1
    rows: int = 0
    declared: tuple[int, int] | None = None
    is_indexed: bool = True
    source: str = ""

    def __post_init__(self) -> None:
        self.verify()

    def verify(self) -> None:
        """Raise ValueError unless the numbers describe a buffer."""
        if self.count < 1 or self.unit < 1:
            raise ValueError(f"'{self.name}' has {self.count} buffers of {self.unit}")
        if not is_power_of_two(self.alignment):
            raise ValueError(f"'{self.name}' has an invalid alignment: {self.alignment}")
        if self.memory is Memory.TMEM and not is_power_of_two(self.unit):
            raise ValueError(f"'{self.name}' is {self.unit} columns wide, not a power of two")

    @property
    def packed_size(self) -> int:
        """All buffers, contiguous."""
        return self.count * self.unit

    @property
    def span_bits(self) -> int:
        """The packed size in bits of storage, by which views of one allocation are compared."""
        return self.packed_size * (8 if self.memory is Memory.SMEM else TMEM_COLUMN_BITS)

    @property
    def packed_alignment(self) -> int:
        """What is left of the view's demand when the buffers follow each other without a gap."""
        return self.alignment if self.count == 1 else min(self.alignment, self.unit & -self.unit)

    def __str__(self) -> str:
        return f"{self.name} {self.count}x{self.unit} {self.memory.unit_name}"


def smem_buffer(
    name: str, shape: Sequence[int], bits: int, layout: SmemLayout, source: str = ""
) -> Buffer:
    """The allocation of type ``<shape x e, layout, #smem>``; the first dimension counts buffers."""
    unit = smem_unit(shape[1:], bits, layout)
    return Buffer(
        name,
        Memory.SMEM,
        count=shape[0],
        unit=unit,
        element_bytes=element_bytes(bits),
        alignment=smem_alignment(unit, layout),
        source=source,
    )


def tmem_buffer(
    name: str, shape: Sequence[int], bits: int, layout: TmemLayout, source: str = ""
) -> Buffer:
    """The allocation of type ``<shape x e, layout, #tmem>``; with two dimensions, one buffer."""
    if len(shape) < 2:
        raise UnitError(f"TMEM allocations must be at least 2D, got rank {len(shape)}", "E1")
    rows, columns = shape[-2:]
    unit = tmem_unit(rows, columns, bits, layout)
    return Buffer(
        name,
        Memory.TMEM,
        count=prod(shape[:-2]),
        unit=unit,
        element_bytes=element_bytes(bits),
        alignment=tmem_alignment(unit, layout),
        rows=tmem_rows(rows, columns, layout),
        declared=tmem_declared_shape(shape, bits, layout),
        is_indexed=len(shape) > 2,
        source=source,
    )
