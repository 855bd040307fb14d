"""Giving arrays the extents that an op needs, and moving elements around.

Arrays of a batch carry the program axis first, with the extent of the batch or 1, and may have
extent 1 along any axis where nothing changes. Most ops broadcast by themselves; those that count,
move or flatten elements call `grow` first. It makes a view, not a copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def grow(x: Any, shape: tuple[int, ...]) -> Any:
    """`x` with the extents `shape` after the program axis."""
    lead = x.shape[0] if x.ndim else 1
    return np.broadcast_to(x, (lead, *shape))


def only(x: Any) -> Any:
    """The one element of an array that all programs share, as a scalar."""
    return x.reshape(-1)[0]


def same_lead(*arrays: Any) -> list[Any]:
    """The arrays with one extent along the program axis."""
    lead = max(array.shape[0] for array in arrays)
    return [
        array if array.shape[0] == lead else np.broadcast_to(array, (lead, *array.shape[1:]))
        for array in arrays
    ]


def join(a: Any, b: Any) -> Any:
    """Two tensors stacked along a further, last axis."""
    return np.stack(same_lead(a, b), axis=-1)


def cat(a: Any, b: Any) -> Any:
    """Two vectors concatenated."""
    return np.concatenate(same_lead(a, b), axis=1)


def gather(x: Any, indices: Any, axis: int) -> Any:
    """Elements of `x` along `axis` chosen by `indices`; any element where one is out of range."""
    values, where = same_lead(x, indices)
    where = np.clip(where, 0, values.shape[axis] - 1).astype(np.int64)
    return np.take_along_axis(values, where, axis)


def histogram(x: Any, bins: int, mask: Any | None) -> Any:
    """The number of times each of 0 … bins-1 occurs among the elements of each program."""
    if mask is not None:
        x, mask = same_lead(x, mask)
    lead: int = x.shape[0]
    rows = x.reshape(lead, -1).astype(np.int64)
    counted = (rows >= 0) & (rows < bins)
    if mask is not None:
        counted &= mask.reshape(lead, -1)
    first: Any = np.arange(0, lead * bins, bins)
    keys = (rows + first[:, None])[counted]
    return np.bincount(keys, minlength=lead * bins).reshape(lead, bins).astype(np.int32)


def within(index: Any, extent: Any) -> Any:
    """Whether an index is inside a tensor of `extent`."""
    return (index >= 0) & (index < extent)


def split_packs(x: Any, pack: int) -> list[Any]:
    """Each `pack` adjacent elements of a tensor as separate arrays."""
    rows = x.reshape(x.shape[0], -1, pack)
    return [rows[:, :, index] for index in range(pack)]


def join_packs(parts: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """The inverse of `split_packs`."""
    parts = np.broadcast_arrays(*parts)
    return np.stack(parts, axis=-1).reshape(parts[0].shape[0], *shape)


def map_packs(
    function: Callable[..., tuple[Any, ...]],
    arrays: Sequence[Any],
    pack: int,
    shape: tuple[int, ...],
) -> tuple[Any, ...]:
    """Apply a function of `pack` elements of each array to all of them."""
    parts = [part for array in same_lead(*arrays) for part in split_packs(array, pack)]
    results = function(*parts)
    size = np.broadcast_shapes(parts[0].shape, *[result.shape for result in results])
    results = [np.broadcast_to(result, size) for result in results]
    return tuple(
        join_packs(results[start : start + pack], shape) for start in range(0, len(results), pack)
    )
