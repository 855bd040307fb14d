"""Tensors in the memory of another: an offset, extents and strides, counted in elements.

    tile.view %p sizes(%m, %n) strides(%s)   ->   Window(offset, (m, n), (s, 1)) of the memory of p

The same window is laid over the elements, over the flags that record which of them are initialised,
and over the record of accesses, so that all views of a tensor share them. A window may reach out of
the memory: sizes of a view are bounds that guards compare with, not a claim that every element
exists. So the caller has to check accesses to a window that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Window:
    """Where the elements of a tensor are in a run of elements."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def rows(cls, shape: Sequence[int], offset: int = 0) -> Window:
        """Contiguous rows."""
        strides = [prod(shape[axis + 1 :]) for axis in range(len(shape))]
        return cls(offset, tuple(shape), tuple(strides))

    @classmethod
    def of_array(cls, array: Any) -> Window | None:
        """The window of an array in its own memory; None if it does not start at its lowest."""
        if array.flags.c_contiguous:
            return cls.rows(array.shape)
        size = array.dtype.itemsize
        if any(stride < 0 or stride % size for stride in array.strides):
            return None
        return cls(0, array.shape, tuple(stride // size for stride in array.strides))

    @property
    def is_empty(self) -> bool:
        return 0 in self.shape

    def reach(self) -> tuple[int, int]:
        """The lowest element, and the one past the highest."""
        low = high = self.offset
        for extent, stride in zip(self.shape, self.strides, strict=True):
            last = (extent - 1) * stride
            low, high = low + min(last, 0), high + max(last, 0)
        return (0, 0) if self.is_empty else (low, high + 1)

    def inside(self, other: Window) -> Window:
        """This window, of the elements that begin where `other` does."""
        return replace(self, offset=self.offset + other.offset)

    def over(self, flat: Any) -> Any:
        """The elements of `flat` in the shape of the window; a last axis of `flat` stays."""
        inner = flat.shape[1:]
        if self.is_empty:
            return np.empty((*self.shape, *inner), flat.dtype)
        step = flat.strides[0]
        address, is_read_only = flat.__array_interface__["data"]
        strides = [*(stride * step for stride in self.strides), *flat.strides[1:]]
        memory = _Memory(
            flat,
            {
                "version": 3,
                "data": (address + self.offset * step, is_read_only),
                "shape": (*self.shape, *inner),
                "strides": tuple(strides),
                "typestr": np.dtype(f"u{flat.dtype.itemsize}").str,
            },
        )
        # Not every element type has a name that NumPy reads: integers of its size do.
        return np.asarray(memory).view(flat.dtype)


class _Memory:
    """Memory of a new array, and the array that it belongs to."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def memory_of(array: Any, inner: int = 0) -> Any:
    """The memory of an array from its first element to its last; the last `inner` axes stay.

    The strides must not be negative.
    """
    outer = array.ndim - inner
    shape, rest = array.shape[:outer], array.shape[outer:]
    if array.flags.c_contiguous or 0 in shape:
        return array.reshape(prod(shape), *rest)
    size = array.dtype.itemsize * prod(rest)
    strides = tuple(stride // size for stride in array.strides[:outer])
    window = Window(0, shape, strides)
    run = array[(slice(1),) * outer].reshape(1, *rest)
    return Window(0, (window.reach()[1],), (1,)).over(run)
