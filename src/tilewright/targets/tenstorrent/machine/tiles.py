"""Tiles as FPU and SFPU use them: bytes of L1 to 32 x 32 arrays and back, with rounding.

DST holds fp32 arrays for floating-point formats and 32-bit integers for the others. In *exact*
numerics a tile rounds only when it is packed. In *device-like* numerics the unpacker truncates
operands to TF32 (10 bits of mantissa) and DST has 16 bits after every op, unless it holds 32-bit
elements: the FPU rounds to them, the SFPU truncates.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tilewright.dialects.tensix.formats import FACE_HEIGHT, FACE_WIDTH, TILE_HEIGHT, Format

Tile: TypeAlias = NDArray[Any]
"""32 x 32 elements, fp32 or a 32-bit integer type."""

DTYPES: Mapping[Format, Any] = {
    Format.BF16: np.dtype(ml_dtypes.bfloat16),
    Format.F32: np.dtype(np.float32),
    Format.F16: np.dtype(np.float16),
    Format.U32: np.dtype(np.uint32),
    Format.I32: np.dtype(np.int32),
    Format.U16: np.dtype(np.uint16),
}

_WORKING: Mapping[Format, Any] = {
    Format.BF16: np.float32,
    Format.F32: np.float32,
    Format.F16: np.float32,
    Format.U32: np.uint32,
    Format.I32: np.int32,
    Format.U16: np.uint32,
}

_TF32_MASK = np.uint32(0xFFFFE000)
_BF16_MASK = np.uint32(0xFFFF0000)


def decode(stored: NDArray[np.uint8], format: Format) -> Tile:
    """The tile of a page."""
    faces = stored.view(DTYPES[format]).reshape(2, 2, FACE_HEIGHT, FACE_WIDTH)
    tile = faces.transpose(0, 2, 1, 3).reshape(TILE_HEIGHT, TILE_HEIGHT)
    return np.ascontiguousarray(tile.astype(_WORKING[format]))


def encode(tile: Tile, format: Format) -> NDArray[np.uint8]:
    """The page of a tile, rounded to nearest even."""
    with np.errstate(over="ignore", invalid="ignore"):
        typed = tile.astype(DTYPES[format])
    faces = typed.reshape(2, FACE_HEIGHT, 2, FACE_WIDTH).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(faces).reshape(-1).view(np.uint8)


def unpacked(tile: Tile) -> Tile:
    """An operand as the FPU reads it: truncated to TF32."""
    if tile.dtype != np.float32:
        return tile
    return (tile.view(np.uint32) & _TF32_MASK).view(np.float32)


def rounded_to_16_bits(tile: Tile) -> Tile:
    """A result as a DST of 16-bit elements holds it."""
    if tile.dtype != np.float32:
        return tile
    return tile.astype(ml_dtypes.bfloat16).astype(np.float32)


def truncated_to_16_bits(tile: Tile) -> Tile:
    """A result as the SFPU stores it to a DST of 16-bit elements: without rounding."""
    if tile.dtype != np.float32:
        return tile
    return (tile.view(np.uint32) & _BF16_MASK).view(np.float32)


def float_of(bits: int) -> np.float32:
    """The number of an fp32 bit pattern."""
    return np.array([bits & 0xFFFFFFFF], dtype=np.uint32).view(np.float32)[0]
