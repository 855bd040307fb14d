"""Boxes of buffers: reading, writing, and what happens at the borders.

A region may reach beyond its buffer in global memory: reads yield the safe value there (zero unless
the kernel sets another) and writes are dropped, as the guards of a compiled kernel do. In shared
and local memory it may not. Regions of different rank match by leaving out extents of 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tilewright.targets.numpy.tile.support.buffers import Owned, TileBuffer
from tilewright.targets.numpy.tile.support.problems import (
    RuntimeFault,
    by_zero,
    count_text,
    index_text,
)


class TileSlice:
    """A box of a buffer."""

    __slots__ = ("buffer", "extents", "offsets")

    def __init__(
        self, buffer: TileBuffer, offsets: tuple[int, ...], extents: tuple[int, ...]
    ) -> None:
        self.buffer = buffer
        self.offsets = offsets
        self.extents = extents

    @property
    def size(self) -> int:
        return int(np.prod(self.extents, dtype=np.int64))

    @property
    def bytes(self) -> int:
        return self.size * self.buffer.data.dtype.itemsize

    def text(self) -> str:
        """The region in source syntax."""
        if self.extents == self.buffer.shape and not any(self.offsets):
            return self.buffer.name
        pairs = zip(self.offsets, self.extents, strict=True)
        return f"{self.buffer.name}[{', '.join(f'{o}:{o + e}' for o, e in pairs)}]"

    # -- borders -----------------------------------------------------------------------------

    def clip(self) -> tuple[tuple[slice, ...], tuple[slice, ...], bool]:
        """The box inside the buffer, its position in the region, and whether that is all."""
        outer: list[slice] = []
        inner: list[slice] = []
        is_whole = True
        for offset, extent, limit in zip(
            self.offsets, self.extents, self.buffer.data.shape, strict=True
        ):
            low, high = offset, offset + extent
            if low < 0 or high > limit:
                is_whole = False
                low = min(max(low, 0), limit)
                high = max(min(high, limit), low)
            outer.append(slice(low, high))
            inner.append(slice(low - offset, high - offset))
        return tuple(outer), tuple(inner), is_whole

    def box(self) -> tuple[slice, ...]:
        """The slices of a region that must be within bounds."""
        outer, _, is_whole = self.clip()
        if not is_whole:
            raise self._outside()
        return outer

    def _outside(self) -> RuntimeFault:
        buffer = self.buffer
        beyond = [
            (axis, offset, offset + extent, limit)
            for axis, (offset, extent, limit) in enumerate(
                zip(self.offsets, self.extents, buffer.data.shape, strict=True)
            )
            if offset < 0 or offset + extent > limit
        ]
        axis, low, high, limit = beyond[0]
        message = (
            f"region out of bounds: {self.text()}, but axis {axis} of {buffer.name} has "
            f"{count_text(limit, 'element')}"
        )
        fix = f"end the region at {limit}" if low >= 0 else f"start the region at 0, not at {low}"
        note = f"the compiler guards only global memory: {fix}, or make {buffer.name} larger"
        if low >= 0:
            note += f" ({high} needed)"
        return RuntimeFault("out of bounds", message, [buffer.describe(), note])

    # -- access ------------------------------------------------------------------------------

    def read(
        self,
        *,
        partial: bool = False,
        lenient: bool = False,
        engine: str = "",
        atomic: bool = False,
        fill: Any = None,
    ) -> tuple[Any, Any]:
        """The elements, and which of them are defined (None: all).

        Without `partial` an undefined element is reported; with it only a region that has nothing
        else is, and if that is `lenient` nothing. Outside of the buffer is `fill`, or its safe
        value.
        """
        buffer = self.buffer
        outer, inner, is_whole = self.clip()
        if not is_whole and not buffer.is_global:
            raise self._outside()
        if buffer.is_gated:
            buffer.check(outer, writes=False, engine=engine)
        if buffer.seen is not None and not atomic:
            buffer.seen.read(buffer.name, outer)
        values = buffer.data[outer]
        defined = None
        if buffer.shadow is not None:
            defined = buffer.shadow.defined(outer)
            if defined.all():
                defined = None
            elif not partial or (defined.size and not defined.any() and not lenient):
                raise self.uninitialised(defined, outer)
        if is_whole:
            return values, defined
        grown = np.full(self.extents, buffer.safe if fill is None else fill, buffer.data.dtype)
        grown[inner] = values
        if defined is not None:
            flags = np.ones(self.extents, np.bool_)
            flags[inner] = defined
            defined = flags
        return grown, defined

    def write(
        self, values: Any, defined: Any = None, *, engine: str = "", atomic: bool = False
    ) -> None:
        """Put elements there; dropped where the region leaves global memory."""
        buffer = self.buffer
        outer, inner, is_whole = self.clip()
        if not is_whole:
            if not buffer.is_global:
                raise self._outside()
            values = np.broadcast_to(values, self.extents)[inner]
            defined = None if defined is None else defined[inner]
        if not buffer.writable:
            raise read_only(buffer)
        if buffer.is_gated:
            buffer.check(outer, writes=True, engine=engine)
        if buffer.seen is not None:
            (buffer.seen.update if atomic else buffer.seen.write)(buffer.name, outer)
        buffer.data[outer] = values
        for each in buffer.owned.values():
            TileSlice(each, self.offsets, self.extents).write(values, defined)
        if buffer.shadow is None:
            return
        if defined is None:
            buffer.shadow.mark(outer)
        else:
            buffer.shadow.assign(outer, defined)

    def uninitialised(self, defined: Any, outer: tuple[slice, ...]) -> RuntimeFault:
        """The report on the first element that is not defined."""
        bad = np.argwhere(~defined)
        first = [int(i) + part.start for i, part in zip(bad[0], outer, strict=True)]
        return uninitialised(self.buffer, first, len(bad), defined.size)


def uninitialised(buffer: TileBuffer, index: Sequence[int], bad: int, total: int) -> RuntimeFault:
    """The report on a read of uninitialised elements."""
    for origin, flags in buffer.by_zero.items():
        if flags[tuple(index)]:
            return by_zero(origin, f"read from {index_text(buffer.name, index)}")
    message = f"read of uninitialised {index_text(buffer.name, index)}"
    notes = [f"{bad} of {count_text(total, 'element')} read are uninitialised", buffer.describe()]
    name = buffer.name
    if buffer.home is not None and buffer.home.owners is not None:
        owner = _owner(buffer, index)
        if owner is not None and owner is not buffer:
            message = f"read of {index_text(name, index)}, which {owner.name} has overwritten"
            notes[0] = f"{bad} of {count_text(total, 'element')} read do not have values of {name}"
            notes.append(owner.describe())
            fix = (
                f"{name} and {owner.name} share these bytes: read {name} before {owner.name} is "
                "written, or keep them apart with reuse_group kind `distinct`"
            )
            return RuntimeFault("uninitialised", message, [*notes, fix])
    if buffer.space == "var":
        fix = (
            f"initialise {name} with T.alloc_var(dtype, init=...) or {name} = ...; a value "
            "that differs "
            "between iterations of T.Parallel is undefined after the loop"
        )
    elif buffer.is_global:
        fix = f"initialise {name} before the launch, or write it in the kernel before the read"
    else:
        fix = (
            f"initialise {name} first: T.clear({name}), T.fill({name}, value) or "
            f"T.copy(source, {name})"
        )
        if buffer.space == "shared":
            fix += "; if another role or an asynchronous copy writes it, wait for its barrier first"
    return RuntimeFault("uninitialised", message, [*notes, fix])


def _owner(buffer: TileBuffer, index: Sequence[int]) -> TileBuffer | None:
    """The buffer through which the bytes of an element of an arena were written."""
    shadow = buffer.shadow
    assert buffer.home is not None and isinstance(shadow, Owned)
    owners: list[int] = shadow.owners[tuple(index)].tolist()
    for owner in owners:
        if owner and owner != shadow.me:
            return buffer.home.buffers[owner - 1]
    return None


def read_only(buffer: TileBuffer) -> RuntimeFault:
    """The report on a write to an array that must not change."""
    return RuntimeFault(
        "read-only",
        f"write to read-only buffer {buffer.name}",
        [buffer.describe(), f"pass a writable array for {buffer.name}"],
    )


def part(buffer: TileBuffer, offsets: Sequence[Any], extents: Sequence[Any]) -> TileSlice:
    """A box of a buffer."""
    return TileSlice(buffer, tuple(int(o) for o in offsets), tuple(int(e) for e in extents))


def as_region(what: TileSlice | TileBuffer) -> TileSlice:
    """A region, or the whole of a buffer."""
    if isinstance(what, TileSlice):
        return what
    return TileSlice(what, (0,) * what.data.ndim, what.data.shape)


def squeezed(extents: Sequence[int]) -> tuple[int, ...]:
    """Extents without those of 1."""
    return tuple(extent for extent in extents if extent != 1)


def fitted(values: Any, source: TileSlice, target: TileSlice) -> Any:
    """The elements of `source` in the shape of `target`."""
    if values.shape == target.extents:
        return values
    if squeezed(values.shape) != squeezed(target.extents):
        message = (
            f"shape mismatch: {source.text()} has shape {values.shape}, "
            f"{target.text()} has shape {target.extents}"
        )
        raise RuntimeFault(
            "shape", message, ["extents must agree, apart from those of 1: slice one of the two"]
        )
    return values.reshape(target.extents)


def matrix(values: Any) -> Any:
    """A tile of rank 2, from one with further leading extents of 1."""
    while values.ndim > 2 and values.shape[0] == 1:
        values = values[0]
    if values.ndim > 2:
        values = values.reshape(squeezed(values.shape))
    return values if values.ndim >= 2 else values.reshape(1, -1)
