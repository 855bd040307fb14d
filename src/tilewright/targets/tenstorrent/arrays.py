"""Arrays of the caller as pages of a tensor in DRAM, and back.

A plan arranges a tensor in four steps (`TensorPlan`): dimensions are permuted so that those of
tile rows and columns come last, rows and columns are cut into granules that are padded to whole
tiles individually, the rest is padded, and 32x32 tiles become pages.

    (130, 70), granules 32, 32     -> padded (160, 96), 5 x 3 pages
    (22, 100), granules 4, 32      -> every 4 rows padded to 32: 6 x 4 pages
"""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tilewright.dialects.tensix.plan import TensorPlan
from tilewright.targets.tenstorrent.formats import TILE, TileFormat, tilize, untilize

Array: TypeAlias = NDArray[Any]


def pages_of(array: Array, tensor: TensorPlan) -> Array:
    """The pages of an array, in page order."""
    matrix = _matrix(array, tensor)
    blocks, padded = _blocks(tensor)
    batch, rows, columns = matrix.shape
    (high, wide), (tall, broad) = tensor.granules, padded
    whole = np.full(
        (batch, blocks[0] * high, blocks[1] * wide), tensor.pad_value, dtype=matrix.dtype
    )
    whole[:, :rows, :columns] = matrix
    cut = whole.reshape(batch, blocks[0], high, blocks[1], wide)
    spread = np.full(
        (batch, blocks[0], tall, blocks[1], broad), tensor.pad_value, dtype=matrix.dtype
    )
    spread[:, :, :high, :, :wide] = cut
    dtype = TileFormat(tensor.format).dtype
    flat = spread.reshape(batch, blocks[0] * tall, blocks[1] * broad)
    return tilize(flat.astype(dtype, copy=False))


def array_of(pages: bytes, tensor: TensorPlan) -> Array:
    """The array whose pages these are, without padding."""
    blocks, (tall, broad) = _blocks(tensor)
    high, wide = tensor.granules
    leading = [tensor.shape[dim] for dim in tensor.dims[:-2]]
    batch = prod(leading)
    elements = np.frombuffer(pages, dtype=TileFormat(tensor.format).dtype)
    flat = untilize(elements, (batch, blocks[0] * tall, blocks[1] * broad))
    spread = flat.reshape(batch, blocks[0], tall, blocks[1], broad)
    whole = spread[:, :, :high, :, :wide].reshape(batch, blocks[0] * high, blocks[1] * wide)
    rows, columns = (1 if dim < 0 else tensor.shape[dim] for dim in tensor.dims[-2:])
    real = [dim for dim in tensor.dims if dim >= 0]
    cropped = whole[:, :rows, :columns].reshape([tensor.shape[dim] for dim in real])
    return np.ascontiguousarray(cropped.transpose(np.argsort(real)))


def _matrix(array: Array, tensor: TensorPlan) -> Array:
    """The array as batches of matrices of tile rows and columns."""
    real = [dim for dim in tensor.dims if dim >= 0]
    rows, columns = (1 if dim < 0 else array.shape[dim] for dim in tensor.dims[-2:])
    return np.ascontiguousarray(array.transpose(real)).reshape(-1, rows, columns)


def _blocks(tensor: TensorPlan) -> tuple[tuple[int, int], tuple[int, int]]:
    """How many granules there are along rows and columns, and their padded sizes."""
    high, wide = (-(-granule // TILE) * TILE for granule in tensor.granules)
    rows, columns = tensor.padded[-2:]
    return (rows // high, columns // wide), (high, wide)
