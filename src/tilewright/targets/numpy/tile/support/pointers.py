"""Addresses of elements: what copies by single threads (`cp.async`) and tensors at an address need.

A pointer is a buffer and an offset in its memory, counted in elements; one offset per thread where
they differ. Nothing guards a copy by a thread: it must stay inside its buffers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tilewright.targets.numpy.reached import ReachedMemory
from tilewright.targets.numpy.support.select import where
from tilewright.targets.numpy.tile.support.buffers import TileBuffer
from tilewright.targets.numpy.tile.support.lanes import Lanes
from tilewright.targets.numpy.tile.support.problems import RuntimeFault, count_text
from tilewright.targets.numpy.tile.support.regions import uninitialised
from tilewright.targets.numpy.windows import Window


@dataclass(frozen=True)
class Pointer:
    """Places in a buffer."""

    buffer: TileBuffer
    flat: Any

    def elements(self, lanes: Lanes | None, mask: Any, count: int) -> tuple[Any, ...]:
        """The index of `count` elements from there on, a row for each thread that takes part."""
        first = np.asarray(self.flat) if lanes is None else lanes.spread(self.flat)[mask]
        flat = first.reshape(-1, 1) + np.arange(count, dtype=np.int64)
        size = self.buffer.data.size
        bad = (flat < 0) | (flat >= size)
        if bad.any():
            element = int(flat[bad][0])
            message = (
                f"copy out of bounds: element {element} of {self.buffer.name}, which has "
                f"{count_text(size, 'element')}"
            )
            note = "per-thread copies are not guarded: check the index, or pass a predicate"
            raise RuntimeFault("out of bounds", message, [self.buffer.describe(), note])
        return np.unravel_index(flat, self.buffer.data.shape)

    def view(
        self, shape: Sequence[Any], scalar: Any, strides: Sequence[Any] | None = None
    ) -> TileBuffer:
        """A tensor that starts there."""
        return self.buffer.view(shape, scalar, strides, offset=self.flat)


def pointer(buffer: TileBuffer, *index: Any) -> Pointer:
    """The address of an element."""
    window = Window.of_array(buffer.data)
    if window is None:
        raise RuntimeFault(
            "shape",
            f"address of an element of {buffer.name}, whose strides are negative",
            [buffer.describe(), f"pass a contiguous array for {buffer.name}"],
        )
    flat: Any = np.int64(0)
    for i, stride in zip(index, window.strides, strict=True):
        flat = flat + i * stride
    if not buffer.data.flags.c_contiguous:
        buffer = buffer.view((window.reach()[1],), buffer.data.dtype, has_gaps=True)
    return Pointer(buffer, flat)


def pointer_into(
    memory: ReachedMemory[TileBuffer], address: int, dtype: np.dtype[Any], divisor: int
) -> Pointer:
    """What an address points to; where no array is, no elements, and accesses are reported."""
    if address % divisor:
        raise RuntimeFault(
            "misaligned",
            f"the address {address:#x} is not a multiple of {divisor}",
            ["the kernel relies on it: its descriptors or hints state it"],
        )
    found = memory.at(address)
    if found is None:
        return Pointer(TileBuffer(f"the memory at {address:#x}", np.zeros(0, dtype), "global"), 0)
    buffer, offset = found
    if offset % buffer.data.dtype.itemsize:
        buffer = buffer.view((buffer.data.nbytes,), np.uint8)
    return Pointer(buffer, offset // buffer.data.dtype.itemsize)


@dataclass(eq=False)
class ThreadCopy:
    """The copies of a few bytes that threads start with one statement."""

    target: Pointer
    source: Pointer
    target_index: tuple[Any, ...]
    source_index: tuple[Any, ...]
    takes: Any
    """Whether a thread copies, or writes zeros; None if all copy."""

    @classmethod
    def of(
        cls, lanes: Lanes | None, target: Pointer, source: Pointer, size_bytes: int, predicate: Any
    ) -> ThreadCopy:
        count = size_bytes // target.buffer.data.dtype.itemsize
        mask = None if lanes is None else np.ones(lanes.shape, np.bool_)
        if lanes is not None and lanes.active is not None:
            mask = lanes.spread(lanes.active)
        takes = None
        if predicate is not None:
            selected = np.asarray(predicate) if lanes is None else lanes.spread(predicate)[mask]
            takes = selected.reshape(-1, 1)
        target_index = target.elements(lanes, mask, count)
        if takes is None:
            return cls(target, source, target_index, source.elements(lanes, mask, count), None)
        # Where the predicate fails nothing is read, so any offset will do.
        safe = where(takes.reshape(-1), _flat(source, lanes, mask), 0)
        start = Pointer(source.buffer, safe)
        return cls(target, source, target_index, start.elements(None, None, count), takes)

    def finish(self) -> None:
        """Do it."""
        source, target = self.source.buffer, self.target.buffer
        if source.shadow is not None:
            defined = source.shadow.defined(self.source_index)
            bad = ~defined if self.takes is None else ~defined & self.takes
            if bad.any():
                first = [int(i[bad][0]) for i in self.source_index]
                raise uninitialised(source, first, int(bad.sum()), bad.size)
        if source.seen is not None:
            takes = None if self.takes is None else np.broadcast_to(self.takes, _shape(self))
            index = self.source_index
            source.seen.read(
                source.name, index if takes is None else tuple(i[takes] for i in index)
            )
        values = source.data[self.source_index]
        if self.takes is not None:
            values = where(self.takes, values, values.dtype.type(0))
        if target.seen is not None:
            target.seen.write(target.name, self.target_index)
        target.data[self.target_index] = values
        if target.shadow is not None:
            target.shadow.mark(self.target_index)


def _shape(copies: ThreadCopy) -> tuple[int, ...]:
    return copies.source_index[0].shape


def _flat(pointer: Pointer, lanes: Lanes | None, mask: Any) -> Any:
    if lanes is None:
        return np.asarray(pointer.flat).reshape(-1)
    return lanes.spread(pointer.flat)[mask]
