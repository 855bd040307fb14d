"""What generated references are written with: plain NumPy, nothing of Tilewright.

Global memory may be read and written outside of its bounds: zeros come back, writes are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import ml_dtypes
import numpy as np

Array = Any

DTYPES: dict[str, np.dtype[Any]] = {
    **{name: np.dtype(name) for name in ("int8", "uint8", "int16", "int32", "int64")},
    **{name: np.dtype(name) for name in ("float16", "float32")},
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float8_e4m3fn": np.dtype(ml_dtypes.float8_e4m3fn),
    "float8_e5m2": np.dtype(ml_dtypes.float8_e5m2),
}


def cast(value: Array, dtype: str) -> Array:
    """The value as `dtype`: integers wrap, floats round to nearest, or towards zero to integers."""
    found, wanted = np.asarray(value), DTYPES[dtype]
    if found.dtype.kind == "V" and wanted.kind in "iu":  # small floats go through single precision
        found = found.astype(np.float32)
    return found.astype(wanted)


def box(*extents: int) -> tuple[Array, ...]:
    """The index of every point of a box, one array for each axis."""
    return tuple(np.indices(extents))


def _inside(array: Array, index: Sequence[Array]) -> tuple[Array, tuple[Array, ...]]:
    spread = np.broadcast_arrays(*[np.asarray(each, np.int64) for each in index])
    inside = np.ones(spread[0].shape, bool)
    for each, size in zip(spread, array.shape, strict=True):
        inside &= (each >= 0) & (each < size)
    return inside, tuple(np.where(inside, each, 0) for each in spread)


def at(array: Array, *index: Array) -> Array:
    """Elements; zero where there is none."""
    inside, places = _inside(array, index)
    if array.size == 0:
        return np.zeros(inside.shape, array.dtype)
    return np.where(inside, array[places], np.zeros((), array.dtype))


def put(array: Array, index: Sequence[Array], value: Array, mask: Array = True) -> None:
    """Write elements, where `mask` holds and there are any."""
    inside, places = _inside(array, index)
    spread, value, inside = np.broadcast_arrays(np.zeros(inside.shape), value, inside & mask)
    inside = np.broadcast_to(inside, spread.shape)
    places = tuple(np.broadcast_to(each, spread.shape)[inside] for each in places)
    array[places] = value.astype(array.dtype)[inside]


def combine(
    ufunc: Any, array: Array, index: Sequence[Array], value: Array, mask: Array = True
) -> None:
    """Combine elements with `value`, one iteration after the other."""
    inside, places = _inside(array, index)
    shape = np.broadcast_shapes(inside.shape, np.shape(value), np.shape(mask))
    inside = np.broadcast_to(inside & mask, shape)
    places = tuple(np.broadcast_to(each, shape)[inside] for each in places)
    ufunc.at(array, places, np.broadcast_to(value, shape).astype(array.dtype)[inside])


def load(array: Array, offsets: Sequence[Any], extents: Sequence[int]) -> Array:
    """A part of global memory, without its extents of 1."""
    index = [int(start) + axis for start, axis in zip(offsets, np.indices(extents), strict=True)]
    return at(array, *index)


def store(array: Array, offsets: Sequence[Any], extents: Sequence[int], value: Array) -> None:
    index = [int(start) + axis for start, axis in zip(offsets, np.indices(extents), strict=True)]
    put(array, index, np.asarray(value).reshape(extents))


def product(a: Array, b: Array) -> Array:
    """A matrix product of small integers, whatever type they have: exact."""
    kind = np.int64 if a.dtype.kind in "iu" else np.float64
    return a.astype(kind) @ b.astype(kind)


def total(values: Array, axis: int) -> Array:
    """A sum of small integers: exact in double precision, and modulo 2^64 in integers."""
    kind = np.int64 if values.dtype.kind in "iu" else np.float64
    return values.astype(kind).sum(axis=axis)


def running(kind: str, values: Array, axis: int, reverse: bool) -> Array:
    """Running sums or maxima."""
    wide = values.astype(np.int64 if values.dtype.kind in "iu" else np.float64)
    if reverse:
        wide = np.flip(wide, axis)
    found = (np.cumsum if kind == "sum" else np.maximum.accumulate)(wide, axis=axis)
    found = np.flip(found, axis) if reverse else found
    return found.astype(values.dtype)


def tiles(domain: Sequence[int], wave: int, index: int, group: int) -> Iterator[tuple[int, ...]]:
    """The tiles of a persistent loop: mixed radix, the last axis in groups."""
    *front, last = domain
    group = max(1, min(group, last))
    radix = (-(-last // group), *front, group)
    for number in range(index, int(np.prod(radix)), wave):
        first, *middle, inner = np.unravel_index(number, radix)
        final = int(first) * group + int(inner)
        if final < last:
            yield (*map(int, middle), final)


def accumulate(
    ufunc: Any, array: Array, offsets: Sequence[Any], extents: Sequence[int], value: Array
) -> None:
    """Combine a part of global memory with a tile."""
    index = [int(start) + axis for start, axis in zip(offsets, np.indices(extents), strict=True)]
    combine(ufunc, array, index, np.asarray(value).reshape(extents))
