"""Uninitialised arrays: `empty` makes one, and the next launch treats it as such.

    out = tw.empty(1000)
    kernel[(7,)](x, out, BLOCK=128)

A kernel that reads such an array before it is written is stopped. One that only writes it, but not
all of it, gets a warning: most often its grid was too small. After that launch, or once the host
has written any of it, the array is like any other. What has not been written holds bits that are
easy to see: NaN, or -1.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from tilewright.runtime.arrays import NumpyArray

_FILL = 0xFF

_fresh: dict[int, weakref.ref[NumpyArray]] = {}


def empty(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> NumpyArray:
    """An array that a kernel has to fill; its first launch checks that."""
    array: np.ndarray[Any, np.dtype[Any]] = np.empty(shape, dtype)
    array.reshape(-1).view(np.uint8).fill(_FILL)
    key = id(array)
    _fresh[key] = weakref.ref(array, lambda _: _fresh.pop(key, None))
    return array


def is_fresh(array: NumpyArray) -> bool:
    """Whether nothing has been written to `array` since `empty` made it, as far as launches go."""
    if not _fresh:
        return False
    known = _fresh.get(id(array))
    if known is None or known() is not array:
        return False
    if (array.reshape(-1).view(np.uint8) != _FILL).any():
        mark_initialised(array)  # the host has written to it, and which elements is not known
        return False
    return True


def mark_initialised(array: NumpyArray) -> None:
    """`array` has been part of a launch: it has values, or an uninitialised read was reported."""
    _fresh.pop(id(array), None)
