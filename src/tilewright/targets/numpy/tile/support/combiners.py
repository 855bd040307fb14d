"""Reductions and scans by a combiner, in the order of the pointer level (`support/reductions.py`).

So a kernel gives the same bits before and after it is raised to tiles. The pointer level's arrays
have a first axis of programs; a block is one program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.targets.numpy.support import reductions
from tilewright.targets.numpy.tile.support.movement import TileLike
from tilewright.targets.numpy.tile.support.regions import TileSlice, as_region

Summation = Callable[[Any, Any, int], Any]


def reduce_by(
    combine: reductions.Combine,
    sources: Sequence[TileLike],
    targets: Sequence[TileLike],
    dim: int,
    *,
    largest: bool | None = None,
) -> None:
    """Reduce tuples of elements; `largest` of a combiner that finds the extreme and its index."""
    arrays, axis = _read(sources, dim)
    if largest is None:
        found = reductions.fold_by(combine, arrays, axis)
    else:
        values, indices = arrays
        found = reductions.arg_reduce(largest, values, _along(indices, axis), axis, combine)
    _write(targets, found)


def _along(indices: Any, axis: int) -> Any:
    """Indices that depend on the position along an axis only, as one line; others as they are."""
    first = np.moveaxis(indices, axis, -1).reshape(-1, indices.shape[axis])[0]
    line = first.reshape([-1 if each == axis else 1 for each in range(indices.ndim)])
    return line if (indices == line).all() else indices


def reduce_each(
    total: Summation | None, ufunc: Any, source: TileLike, target: TileLike, dim: int
) -> None:
    """Reduce by a ufunc; `total` fixes the order of rounded sums."""
    (values,), axis = _read((source,), dim)
    if total is not None:
        result = total(ufunc, values, axis)
    else:
        result = ufunc.reduce(values, axis=axis, dtype=values.dtype)
    _write((target,), (result,))


def scan_by(
    combine: reductions.Combine,
    sources: Sequence[TileLike],
    targets: Sequence[TileLike],
    dim: int,
    *,
    reverse: bool = False,
) -> None:
    """Running results of tuples of elements."""
    arrays, axis = _read(sources, dim)
    _write(targets, reductions.scan_by(combine, arrays, axis, reverse))


def scan_each(
    ufunc: Any, source: TileLike, target: TileLike, dim: int, *, reverse: bool = False
) -> None:
    """Running results of a ufunc."""
    (values,), axis = _read((source,), dim)
    _write((target,), (reductions.scan(ufunc, values, axis, reverse),))


def _read(sources: Sequence[TileLike], dim: int) -> tuple[list[Any], int]:
    """The elements of each source, after an axis of one program, and the axis of `dim`."""
    arrays = [np.ascontiguousarray(as_region(each).read()[0]) for each in sources]
    shape, axis = arrays[0].shape, dim
    # Leading extents of 1 are versions of a buffer.
    lead = 0
    while lead < axis and shape[lead] == 1:
        lead += 1
    return [each.reshape(1, *shape[lead:]) for each in arrays], axis - lead + 1


def _write(targets: Sequence[TileLike], found: Sequence[Any]) -> None:
    for target, values in zip(targets, found, strict=True):
        region: TileSlice = as_region(target)
        region.write(np.asarray(values).reshape(region.extents))
