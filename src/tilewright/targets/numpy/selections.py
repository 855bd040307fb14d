"""Which elements of a table an access selects, without listing each one where possible.

A *table* is a one-dimensional array with one entry per element of a buffer: the elements
themselves, or what is recorded about them (which program wrote them, whether any did). A selection
reads or writes the same entries of any of them:

    Elements(index)                        table[index], one index per lane
    Windows(starts, extents, strides)      table[start + sum(i_k * stride_k)], lanes counted by i

Blocks of a tensor are windows: rows of one stride, columns of another, one start per program. They
are copied as a strided view, at the speed of memory, where naming each element costs ten times
as much. Lanes count in row-major order, and of several writes to one entry the last one wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from tilewright.targets.numpy.api import Array

_max = np.maximum.reduce
_min = np.minimum.reduce


@dataclass(frozen=True, slots=True)
class Elements:
    """One index per lane, all of them within the table."""

    index: Array

    @property
    def shape(self) -> tuple[int, ...]:
        return self.index.shape

    @property
    def is_injective(self) -> bool:
        """Whether all lanes are known to be different elements."""
        return self.index.size == 1

    def take(self, table: Array) -> Array:
        # The index is known to be good; of the modes, "wrap" does least about it.
        return table.take(self.index, mode="wrap")

    def put(self, table: Array, values: Array) -> None:
        table[self.index] = values

    def elements(self) -> Array:
        return self.index

    def rescaled(self, ratio: int, offset: int) -> Elements:
        """The same memory in a table of `ratio` entries per element, starting `offset` earlier."""
        if ratio == 1:
            return Elements(self.index + offset) if offset else self
        first = np.asarray(self.index) * ratio + offset
        return Elements(first[..., None] + np.arange(ratio))


@dataclass(frozen=True, slots=True)
class Windows:
    """A strided block at each of `starts`; the lanes of the block are the last axes.

    `starts` has one entry per block, or is the start of the only one. `below` and `above` are the
    extents of a block on either side of its start.
    """

    starts: Array | int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    below: int
    above: int

    @property
    def shape(self) -> tuple[int, ...]:
        return self.extents if isinstance(self.starts, int) else self.starts.shape + self.extents

    @property
    def is_injective(self) -> bool:
        return isinstance(self.starts, int) and self.blocks_are_injective

    @property
    def blocks_are_injective(self) -> bool:
        """Whether the lanes of one block are different elements, shown by nested strides."""
        reach = 0
        for stride, extent in sorted(
            (abs(stride), extent)
            for stride, extent in zip(self.strides, self.extents, strict=True)
            if extent > 1
        ):
            if stride <= reach:
                return False
            reach += stride * (extent - 1)
        return True

    def ends(self) -> tuple[int, int]:
        """The first and the last element of any block."""
        starts = self.starts
        if isinstance(starts, int):
            return starts - self.below, starts + self.above
        low, high = int(_min(starts, axis=None)), int(_max(starts, axis=None))
        return low - self.below, high + self.above

    def view(self, table: Array) -> Array:
        """The only block, as part of `table`."""
        assert isinstance(self.starts, int)
        size = table.itemsize
        strides = tuple([stride * size for stride in self.strides])
        return np.ndarray(self.extents, table.dtype, table.data, self.starts * size, strides)

    def _blocks(self, table: Array) -> tuple[Array, Array]:
        """A view with a block at every offset where one fits, and the indices of `starts` in it."""
        assert not isinstance(self.starts, int)
        size = table.itemsize
        shape = (len(table) - self.above - self.below, *self.extents)
        strides = (size, *[stride * size for stride in self.strides])
        view = np.ndarray(shape, table.dtype, table.data, self.below * size, strides)
        return view, self.starts - self.below if self.below else self.starts

    def take(self, table: Array) -> Array:
        if isinstance(self.starts, int):
            return self.view(table).copy()
        view, indices = self._blocks(table)
        return view[indices]

    def put(self, table: Array, values: Array) -> None:
        if not self.blocks_are_injective:
            Elements(self.elements()).put(table, values)
        elif isinstance(self.starts, int):
            self.view(table)[...] = values
        else:
            view, indices = self._blocks(table)
            view[indices] = values

    def elements(self) -> Array:
        index = np.asarray(self.starts)
        index = index.reshape(index.shape + (1,) * len(self.extents))
        for axis, (extent, stride) in enumerate(zip(self.extents, self.strides, strict=True)):
            steps = np.arange(extent, dtype=np.int64) * stride
            index = index + steps.reshape((-1,) + (1,) * (len(self.extents) - axis - 1))
        return index

    def rescaled(self, ratio: int, offset: int) -> Windows:
        """The same memory in a table of `ratio` entries per element, starting `offset` earlier."""
        starts = self.starts * ratio + offset
        if ratio == 1:
            return Windows(starts, self.extents, self.strides, self.below, self.above)
        strides = (*[stride * ratio for stride in self.strides], 1)
        return windows(starts, (*self.extents, ratio), strides)


Selection: TypeAlias = Elements | Windows


def windows(starts: Array | int, extents: tuple[int, ...], strides: tuple[int, ...]) -> Windows:
    """Blocks at `starts`, with their reach worked out."""
    below = above = 0
    for extent, stride in zip(extents, strides, strict=True):
        if stride < 0:
            below -= stride * (extent - 1)
        else:
            above += stride * (extent - 1)
    return Windows(starts, extents, strides, below, above)
