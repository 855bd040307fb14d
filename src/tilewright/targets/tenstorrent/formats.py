"""Tile formats: element types as the unpacker and packer store them, and the tile layout.

A tile of 32x32 elements consists of four faces of 16x16, each row-major, in the order upper left,
upper right, lower left, lower right:

    offset(r, c) = ((r // 16) * 2 + c // 16) * 256 + (r % 16) * 16 + c % 16   (elements)

`tilize` pads a tensor's last two dimensions to whole tiles and returns its pages, one a tile, in
row-major order of tiles; `untilize` is its inverse and crops.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

TILE = 32
FACE = 16
TILE_ELEMENTS = TILE * TILE

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class _Storage:
    """How one format is stored."""

    host_name: str
    host_value: int
    """The value of the vendor's `DataFormat` enumeration."""
    dtype: Any
    tile_bytes: int


class TileFormat(Enum):
    """A format that a circular buffer may have; its value is the name used in IR and plans."""

    BF16 = "bf16"
    FP32 = "f32"
    FP16 = "f16"
    INT32 = "i32"
    UINT32 = "u32"
    UINT16 = "u16"
    BFP8_B = "bfp8_b"

    @property
    def host_name(self) -> str:
        """The name in the vendor's `DataFormat` enumeration."""
        return _STORAGE[self].host_name

    @property
    def host_value(self) -> int:
        """The value in the vendor's `DataFormat` enumeration."""
        return _STORAGE[self].host_value

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy element type.

        Raises:
            ValueError: if elements share exponents, so that there is none.
        """
        dtype = _STORAGE[self].dtype
        if dtype is None:
            raise ValueError(f"tile format {self.value} has no NumPy element type")
        return np.dtype(dtype)

    @property
    def tile_bytes(self) -> int:
        """Bytes of one 32x32 tile."""
        return _STORAGE[self].tile_bytes

    @staticmethod
    def of(dtype: Any) -> TileFormat:
        """The format that stores a NumPy element type.

        Raises:
            ValueError: if no format stores it.
        """
        expected = np.dtype(dtype)
        for each in TileFormat:
            if _STORAGE[each].dtype is not None and each.dtype == expected:
                return each
        raise ValueError(f"element type {expected} has no tile format")


_STORAGE = {
    TileFormat.BF16: _Storage("Float16_b", 5, ml_dtypes.bfloat16, 2048),
    TileFormat.FP32: _Storage("Float32", 0, np.float32, 4096),
    TileFormat.FP16: _Storage("Float16", 1, np.float16, 2048),
    TileFormat.INT32: _Storage("Int32", 8, np.int32, 4096),
    TileFormat.UINT32: _Storage("UInt32", 24, np.uint32, 4096),
    TileFormat.UINT16: _Storage("UInt16", 9, np.uint16, 2048),
    TileFormat.BFP8_B: _Storage("Bfp8_b", 6, None, 1088),
}


def padded_shape(shape: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` as at least two dimensions, the last two rounded up to whole tiles."""
    *leading, rows, columns = (1,) * (2 - len(shape)) + tuple(shape)
    return (*leading, -(-rows // TILE) * TILE, -(-columns // TILE) * TILE)


def tilize(array: Array, fill: float = 0.0) -> Array:
    """The pages of a tensor: an array of shape (tiles, 1024), padded with `fill`."""
    shape = padded_shape(array.shape)
    padded = np.full(shape, fill, dtype=array.dtype)
    source = array.reshape((1,) * (2 - array.ndim) + array.shape)
    padded[..., : source.shape[-2], : source.shape[-1]] = source
    rows, columns = shape[-2] // TILE, shape[-1] // TILE
    faces = padded.reshape(-1, rows, 2, FACE, columns, 2, FACE)
    return np.ascontiguousarray(faces.transpose(0, 1, 4, 2, 5, 3, 6)).reshape(-1, TILE_ELEMENTS)


def untilize(pages: Array, shape: tuple[int, ...]) -> Array:
    """The tensor of `shape` whose pages `tilize` gave."""
    padded = padded_shape(shape)
    rows, columns = padded[-2] // TILE, padded[-1] // TILE
    faces = pages.reshape(-1, rows, columns, 2, 2, FACE, FACE)
    whole = faces.transpose(0, 1, 3, 5, 2, 4, 6).reshape(padded)
    two = (1,) * (2 - len(shape)) + tuple(shape)
    return np.ascontiguousarray(whole[..., : two[-2], : two[-1]]).reshape(shape)
