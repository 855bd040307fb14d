"""Tile formats: how the 32 x 32 elements of a tile are stored in DRAM and L1.

    offset(r, c) = ((r // 16) * 2 + c // 16) * 256 + (r % 16) * 16 + c % 16      (elements)

A tile is four 16 x 16 faces, each row-major. The format fixes the bytes of a page, and with it the
size of circular buffers and of NoC transfers. `bfp8_b` shares one exponent byte among 16 elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import unique

from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, IntegerType, Signedness
from xdsl.ir import Attribute
from xdsl.utils.str_enum import StrEnum

TILE_HEIGHT = 32
TILE_WIDTH = 32
FACE_HEIGHT = 16
FACE_WIDTH = 16
TILE_ELEMENTS = TILE_HEIGHT * TILE_WIDTH
FACE_ELEMENTS = FACE_HEIGHT * FACE_WIDTH


@unique
class Format(StrEnum):
    """A tile format, named after its element type."""

    BF16 = "bf16"
    F32 = "f32"
    F16 = "f16"
    BFP8_B = "bfp8_b"
    U32 = "u32"
    I32 = "i32"
    U16 = "u16"

    @property
    def info(self) -> FormatInfo:
        return FORMATS[self]

    @property
    def tile_bytes(self) -> int:
        """Bytes of one tile, which is one page."""
        return FORMATS[self].tile_bytes

    @property
    def host_name(self) -> str:
        """The enumerator of ``tt::DataFormat``."""
        return FORMATS[self].host_name


@dataclass(frozen=True)
class FormatInfo:
    """What is fixed for one format."""

    host_name: str
    tile_bytes: int
    element_bytes: int
    """0 for formats with a shared exponent: no element has an address of its own."""


FORMATS: Mapping[Format, FormatInfo] = {
    Format.BF16: FormatInfo("Float16_b", 2048, 2),
    Format.F32: FormatInfo("Float32", 4096, 4),
    Format.F16: FormatInfo("Float16", 2048, 2),
    Format.BFP8_B: FormatInfo("Bfp8_b", 1088, 0),
    Format.U32: FormatInfo("UInt32", 4096, 4),
    Format.I32: FormatInfo("Int32", 4096, 4),
    Format.U16: FormatInfo("UInt16", 2048, 2),
}


def format_of(element: Attribute) -> Format | None:
    """The tile format of an element type; None where the hardware has none."""
    if isinstance(element, BFloat16Type):
        return Format.BF16
    if isinstance(element, Float32Type):
        return Format.F32
    if isinstance(element, Float16Type):
        return Format.F16
    if isinstance(element, IntegerType):
        unsigned = element.signedness.data is Signedness.UNSIGNED
        if element.width.data == 32:
            return Format.U32 if unsigned else Format.I32
        if element.width.data == 16 and unsigned:
            return Format.U16
    return None


def element_offset(row: int, column: int) -> int:
    """Where an element of a tile is stored, in elements from the start of the tile."""
    face = (row // FACE_HEIGHT) * 2 + column // FACE_WIDTH
    return face * FACE_ELEMENTS + (row % FACE_HEIGHT) * FACE_WIDTH + column % FACE_WIDTH
