"""Reductions and scans.

The IR does not specify the order in which elements combine; here it is fixed, and does not depend
on how many programs run together:

- sums and multiplications of `f32` and `f64` go through `np.add.reduce` on a C-contiguous array:
  pairwise along the last axis, sequentially along the others;
- those of narrower floats, where every step rounds, combine adjacent elements, then pairs, then
  fours;
- any other user-defined function does the same; only associativity is assumed of it;
- scans of one ufunc go from the first element to the last, others double their reach each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tilewright.targets.numpy.support.select import pick, where

Combine = Callable[..., tuple[Any, ...]]


def total(ufunc: Any, x: Any, axis: int) -> Any:
    """A float sum or multiplication along `axis` in the fixed order of `np.add.reduce`."""
    return ufunc.reduce(np.ascontiguousarray(x), axis=axis)


def fold(ufunc: Any, x: Any, axis: int) -> Any:
    """Reduce adjacent pairs: each step rounds to the type of `x`."""

    def combine(a: Any, b: Any) -> tuple[Any]:
        return (ufunc(a, b),)

    return fold_by(combine, (x,), axis)[0]


def fold_by(combine: Combine, arrays: Sequence[Any], axis: int) -> tuple[Any, ...]:
    """Reduce tuples of elements by a user-defined function."""
    arrays = tuple(arrays)
    while (count := arrays[0].shape[axis]) > 1:
        left = [_part(x, axis, slice(0, count - 1, 2)) for x in arrays]
        right = [_part(x, axis, slice(1, count, 2)) for x in arrays]
        combined = combine(*left, *right)
        if count % 2:
            last = [_part(x, axis, slice(count - 1, count)) for x in arrays]
            combined = _joined(combined, last, axis)
        arrays = tuple(combined)
    return tuple(x.squeeze(axis) for x in arrays)


_MAXIMA: Any = (np.maximum, np.fmax)
_MINIMA: Any = (np.minimum, np.fmin)


def extreme(ufunc: Any, x: Any, axis: int) -> Any:
    """The greatest or the least element along `axis`; of floats, -0.0 < +0.0 (`extrema`)."""
    found = ufunc.reduce(x, axis=axis)
    return _with_zeros(ufunc, found, x, lambda each: np.logical_or.reduce(each, axis=axis))


def _with_zeros(ufunc: Any, found: Any, x: Any, combine: Callable[[Any], Any]) -> Any:
    """`found`, whose zeros have the sign of the greatest or least zero in `x`."""
    is_zero = found == 0
    if x.dtype.kind in "iub" or not is_zero.any():
        return found
    takes_positive = ufunc in _MAXIMA
    has = combine((x == 0) & (np.signbit(x) != takes_positive))
    zero = np.zeros((), x.dtype)
    return pick(is_zero, where(has == takes_positive, zero, -zero), found)


def scan(ufunc: Any, x: Any, axis: int, reverse: bool) -> Any:
    """Running results of a ufunc along `axis`."""
    if reverse:
        return np.flip(scan(ufunc, np.flip(x, axis), axis, False), axis)
    found = ufunc.accumulate(x, axis=axis, dtype=x.dtype)
    if ufunc not in _MAXIMA + _MINIMA:
        return found
    return _with_zeros(ufunc, found, x, lambda each: np.logical_or.accumulate(each, axis=axis))


def scan_by(combine: Combine, arrays: Sequence[Any], axis: int, reverse: bool) -> tuple[Any, ...]:
    """Running results of a user-defined function."""
    current = [np.flip(x, axis) if reverse else x for x in arrays]
    count, reach = current[0].shape[axis], 1
    while reach < count:
        early = [_part(x, axis, slice(0, count - reach)) for x in current]
        late = [_part(x, axis, slice(reach, count)) for x in current]
        head = [_part(x, axis, slice(0, reach)) for x in current]
        current = _joined(head, combine(*early, *late), axis)
        reach *= 2
    return tuple(np.flip(x, axis) if reverse else x for x in current)


def arg_reduce(
    largest: bool, values: Any, indices: Any, axis: int, combine: Combine
) -> tuple[Any, Any]:
    """The extreme value along `axis` and its index, the least index where several are extreme.

    `np.argmax` finds the first extreme element, which has the least index if indices rise along
    the axis and depend on nothing else. It takes NaN for the extreme, the comparison in the
    user-defined function does not: then the function itself is applied.
    """
    count = values.shape[axis]
    rising = indices.size == count and bool((np.diff(indices.reshape(-1)) > 0).all())
    if not rising or _has_nan(values):
        grown = np.broadcast_to(indices, values.shape)
        best, index = fold_by(combine, (values, grown), axis)
        return best, index
    where = values.argmax(axis) if largest else values.argmin(axis)
    best = np.take_along_axis(values, np.expand_dims(where, axis), axis).squeeze(axis)
    return best, indices.reshape(-1)[where]


def _has_nan(x: Any) -> bool:
    return x.dtype.kind != "i" and bool((x != x).any())


def _part(x: Any, axis: int, part: slice) -> Any:
    return x[(slice(None),) * axis + (part,)]


def _joined(first: Sequence[Any], second: Sequence[Any], axis: int) -> list[Any]:
    """Pairs of arrays concatenated along `axis`, broadcast along the others."""
    return [_concatenated(a, b, axis) for a, b in zip(first, second, strict=True)]


def _concatenated(a: Any, b: Any, axis: int) -> Any:
    lead = max(a.shape[0], b.shape[0])
    a, b = (np.broadcast_to(x, (lead, *x.shape[1:])) for x in (a, b))
    return np.concatenate((a, b), axis=axis)
