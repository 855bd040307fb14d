"""From the terms of an address to the elements it selects.

An address arrives as a broadcast sum of small arrays. Most of them are blocks of a tensor, and
that shows in the terms: along an axis where every term grows by a constant step, the sum does too.
Such axes, from the last one on, become the extents and strides of windows, and only the terms'
first entries along them are ever added up:

    base + pid * 4096 + rows * 256 + columns * 4     a window of rows x columns for each program

What has no such axes, or too few lanes to be worth the look, is added up lane by lane. Either way
the result is only returned if it is within the slots and aligned; the caller finds out what is
wrong, and for which lane, by `byte_offsets`.
"""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np

from tilewright.targets.numpy.api import Array
from tilewright.targets.numpy.selections import Elements, Selection, Windows, windows

Parts: TypeAlias = tuple[Array, ...]
"""Terms of an address or a mask. NumPy scalars may be among them: they do all that arrays of rank
0 do."""

FEW_LANES = 2048
"""Up to here adding up costs less than looking for windows."""

_MIN_BLOCK = 16
"""Lanes a window must have to be cheaper than its individual elements."""

_or = np.bitwise_or.reduce
_max = np.maximum.reduce


def shape_of(terms: Parts) -> tuple[int, ...]:
    """What the terms broadcast to; each has rank 0 or the rank of all others."""
    if len(terms) == 1:
        return terms[0].shape
    shapes = [term.shape for term in terms if term.shape]
    if not shapes:
        return ()
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return first
    return tuple([max(extents) if 0 not in extents else 0 for extents in zip(*shapes, strict=True)])


def byte_offsets(terms: Parts, start: int) -> Array:
    """The sum of the terms, counted from the address `start`."""
    if len(terms) == 1:
        return terms[0] - start
    # Small arrays first: only the last addition then has the extent of the result.
    ordered = sorted(terms, key=lambda term: term.size)
    total = ordered[0] - start
    for term in ordered[1:]:
        total = total + term
    return total


def locate(terms: Parts, start: int, count: int, itemsize: int) -> Selection | None:
    """The elements of `itemsize` bytes at the sum of the terms, in a table of `count` elements
    that begins at the address `start`; None if any is misaligned or out of bounds."""
    shape = shape_of(terms)
    lanes = prod(shape)
    if lanes > FEW_LANES:
        found = find_windows(terms, start, itemsize, shape, lanes)
        if found is not None:
            return _checked_windows(found, count)
    return locate_elements(terms, start, count, itemsize)


def locate_elements(terms: Parts, start: int, count: int, itemsize: int) -> Elements | None:
    """As `locate`, lane by lane."""
    offsets = byte_offsets(terms, start)
    if offsets.size == 0:
        return Elements(offsets)
    # All bits that occur in any offset: at least the greatest of them, negative if one is.
    bits = int(_or(offsets, axis=None))
    size = count * itemsize
    if bits & (itemsize - 1):
        return None
    if not 0 <= bits < size and (bits < 0 or int(_max(offsets, axis=None)) >= size):
        return None
    return Elements(offsets if itemsize == 1 else offsets >> (itemsize.bit_length() - 1))


def _checked_windows(found: Windows, count: int) -> Windows | None:
    low, high = found.ends()
    return found if low >= 0 and high < count else None


def find_windows(
    terms: Parts, start: int, itemsize: int, shape: tuple[int, ...], lanes: int
) -> Windows | None:
    """Blocks that the terms describe; None if there are none or an offset is misaligned."""
    origin = -start
    parts: list[Array] = []
    for term in terms:
        if term.size == 1:
            origin += int(term.item())
        else:
            parts.append(term)
    # A term with an entry per lane costs as much to look at as to add up.
    if sum(part.size for part in parts) * 3 > lanes:
        return None
    strides: list[int] = []
    axis = len(shape)
    while axis > 0:
        step = _collapse(parts, axis - 1)
        if step is None:
            break
        if step & (itemsize - 1):
            return None
        strides.insert(0, step // itemsize)
        axis -= 1
    if prod(shape[axis:]) < _MIN_BLOCK:
        return None
    starts = _starts(parts, origin, itemsize, axis)
    return None if starts is None else windows(starts, shape[axis:], tuple(strides))


def _starts(parts: list[Array], origin: int, itemsize: int, axis: int) -> Array | int | None:
    """The sum of what is left of the terms, in elements, without the axes from `axis` on."""
    parts.sort(key=lambda part: part.size)
    total: Array | int = origin
    for part in parts:
        total = total + part
    shift = itemsize.bit_length() - 1
    if isinstance(total, int) or total.size == 1:
        only = total if isinstance(total, int) else int(total.item())
        return None if only & (itemsize - 1) else only >> shift
    if int(_or(total, axis=None)) & (itemsize - 1):
        return None
    return (total >> shift).reshape(total.shape[:axis])


def _collapse(parts: list[Array], axis: int) -> int | None:
    """The constant step of the sum along `axis`; the parts keep their first entries along it.

    None, and the parts are as they were, if there is no such step.
    """
    steps: list[int] = []
    for part in parts:
        if part.shape[axis] > 1:
            step = _step(part, axis)
            if step is None:
                return None
            steps.append(step)
    if steps:
        first = (slice(None),) * axis + (slice(1),)
        parts[:] = [part[first] if part.shape[axis] > 1 else part for part in parts]
    return sum(steps)


def _step(part: Array, axis: int) -> int | None:
    before = (slice(None),) * axis
    steps = part[(*before, slice(1, None))] - part[(*before, slice(None, -1))]
    step = int(steps.item(0))
    return step if bool((steps == step).all()) else None
