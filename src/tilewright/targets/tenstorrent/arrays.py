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
    if any(tensor.starts):
        return _gathered(matrix, tensor)
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


def array_of(pages: bytes, tensor: TensorPlan, before: Array | None = None) -> Array:
    """The array whose pages these are, without padding; `before` has what no page holds."""
    if any(tensor.starts):
        return _scattered(pages, tensor, before)
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


def _elements(tensor: TensorPlan, axis: int) -> Array:
    """The row (column) of the tensor at each padded position; -1 where there is none."""
    counts, padded = _blocks(tensor)
    dim = tensor.dims[-2:][axis]
    extent = 1 if dim < 0 else tensor.shape[dim]
    granule, starts, limits = tensor.granules[axis], tensor.starts[axis], tensor.limits[axis]
    inside = np.arange(padded[axis])
    found: list[Array] = []
    for block in range(counts[axis]):
        start = starts[block] if starts else block * granule
        valid = inside < (limits[block] if limits else granule)
        element = start + inside
        found.append(np.where(valid & (element < extent), element, -1))
    return np.concatenate(found)


def _gathered(matrix: Array, tensor: TensorPlan) -> Array:
    """Pages of blocks that begin anywhere."""
    rows, columns = _elements(tensor, 0), _elements(tensor, 1)
    batch, height, width = matrix.shape
    padded = np.full((batch, height + 1, width + 1), tensor.pad_value, dtype=matrix.dtype)
    padded[:, :height, :width] = matrix
    flat = padded[:, rows[:, None], columns[None, :]]
    return tilize(flat.astype(TileFormat(tensor.format).dtype, copy=False))


def _scattered(pages: bytes, tensor: TensorPlan, before: Array | None) -> Array:
    """The inverse of `_gathered`."""
    rows, columns = _elements(tensor, 0), _elements(tensor, 1)
    dtype = TileFormat(tensor.format).dtype
    array = np.zeros(tensor.shape, dtype) if before is None else before.astype(dtype)
    real = [dim for dim in tensor.dims if dim >= 0]
    matrix = _matrix(array, tensor)
    elements = np.frombuffer(pages, dtype=dtype)
    flat = untilize(elements, (matrix.shape[0], len(rows), len(columns)))
    down, across = np.flatnonzero(rows >= 0), np.flatnonzero(columns >= 0)
    matrix[:, rows[down][:, None], columns[across][None, :]] = flat[
        :, down[:, None], across[None, :]
    ]
    shaped = matrix.reshape([tensor.shape[dim] for dim in real])
    return np.ascontiguousarray(shaped.transpose(np.argsort(real)))


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
