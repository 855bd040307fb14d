"""Buffers of a block: an array, and a shadow that tracks which elements are initialised.

Shared and local memory starts uninitialised; every write marks its elements, and a read of other
elements is reported. Two kinds of shadow:

- `Filled`: a truth value for each element, for memory that one buffer has to itself;
- `Owned`: the owner of each byte of an arena that several buffers share (storage aliasing, views
  of another type). An element is defined if all its bytes were last written through this buffer.

What an asynchronous operation reads or writes is *pending* until it is known to be done; pending
parts are looked up at every access (`pending.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from tilewright.targets.numpy.tile.support.block_races import Seen
from tilewright.targets.numpy.tile.support.limits import MemoryLimit
from tilewright.targets.numpy.tile.support.pending import PendingSet
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault
from tilewright.targets.numpy.windows import Window, memory_of

SPACES = {
    "global": "global memory",
    "shared": "shared memory",
    "shared_static": "shared memory",
    "fragment": "a fragment",
    "local": "local memory",
    "var": "a variable",
    "tmem": "tensor memory",
}


class Shadow(Protocol):
    """Which elements of a buffer are defined."""

    def defined(self, index: Any) -> Any:
        """Truth values for the elements at an index."""
        ...

    def mark(self, index: Any) -> None:
        """They are defined from now on."""
        ...

    def assign(self, index: Any, defined: Any) -> None:
        """Set the flag of each element."""
        ...


class Filled:
    """A truth value for each element."""

    __slots__ = ("flags",)

    def __init__(self, flags: Any) -> None:
        self.flags = flags

    @classmethod
    def none_of(cls, array: Any) -> Filled:
        """For an array of which no element is defined; memory between its rows has flags, too."""
        window = Window.of_array(array) or Window.rows(array.shape)
        return cls(window.over(np.zeros(window.reach()[1], np.bool_)))

    def defined(self, index: Any) -> Any:
        return self.flags[index]

    def mark(self, index: Any) -> None:
        self.flags[index] = True

    def assign(self, index: Any, defined: Any) -> None:
        self.flags[index] = defined


class Own(Filled):
    """Accesses of the iterations of a parallel loop to iteration-private memory.

    A thread runs several iterations with one copy of the memory. An element that an iteration reads
    before it writes it (`read_first`) holds what was there before the loop only if no other
    iteration of the thread has changed it.
    """

    __slots__ = ("read_first", "written")

    def __init__(self, flags: Any) -> None:
        super().__init__(flags)
        self.written = np.zeros(flags.shape, np.bool_)
        self.read_first = np.zeros(flags.shape, np.bool_)

    def mark(self, index: Any) -> None:
        super().mark(index)
        self.written[index] = True

    def read(self, index: Any, active: Any = None) -> None:
        """Iterations (those that are `active`) have read their element."""
        before = ~self.written[index]
        self.read_first[index] |= before if active is None else before & active


class Owned:
    """The owner of each byte; `owners` has the shape of the buffer and a last axis of bytes."""

    __slots__ = ("me", "owners")

    def __init__(self, owners: Any, me: int) -> None:
        self.owners = owners
        self.me = me

    def defined(self, index: Any) -> Any:
        return (self.owners[index] == self.me).all(axis=-1)

    def mark(self, index: Any) -> None:
        self.owners[index] = self.me

    def assign(self, index: Any, defined: Any) -> None:
        self.owners[index] = np.where(np.asarray(defined)[..., None], self.me, 0)


class TileArena:
    """Bytes that several buffers share."""

    def __init__(self, size_bytes: int, checked: bool) -> None:
        self.bytes: Any = np.zeros(size_bytes, np.uint8)
        self.owners: Any = np.zeros(size_bytes, np.uint16) if checked else None
        self.buffers: list[TileBuffer] = []
        self.pending = PendingSet()


class TileBuffer:
    """A buffer as generated code sees it."""

    __slots__ = (
        "by_zero",
        "capacity",
        "data",
        "home",
        "is_global",
        "is_unsigned",
        "limit",
        "name",
        "origin",
        "owned",
        "pending",
        "safe",
        "seen",
        "shadow",
        "site",
        "slots",
        "space",
        "writable",
    )

    def __init__(
        self,
        name: str,
        data: Any,
        space: str,
        shadow: Shadow | None = None,
        site: int | None = None,
        *,
        is_unsigned: bool = False,
        safe: Any = None,
    ) -> None:
        self.name = name
        self.data = data
        self.space = space
        self.shadow = shadow
        self.site = site
        self.is_global = space == "global"
        self.is_unsigned = is_unsigned
        self.safe = data.dtype.type(0) if safe is None else safe
        """What an index out of range reads in global memory."""
        self.pending = PendingSet()
        self.slots: dict[int, TileBuffer] = {}
        self.writable = bool(data.flags.writeable)
        self.home: TileArena | None = None
        """The arena it is allocated in, if it shares its bytes."""
        self.by_zero: dict[int, Any] = {}
        """Elements that store the result of a division by zero, by the site of the division."""
        self.owned: dict[tuple[tuple[int, int], ...], TileBuffer] = {}
        """Of what each thread has: what threads in roles have of it."""
        self.seen: Seen | None = None
        """Which blocks accessed its elements, in global memory."""
        self.origin = 0
        """The element of its memory at which it starts, if it is a view."""
        self.capacity: int | None = None
        """Elements of the memory that it is a view of; None if it is not a view."""
        self.limit: MemoryLimit | None = None
        """The memory, if the extents of the view reach out of it."""

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    def dim(self, axis: int) -> Any:
        """The extent of an axis as an index."""
        return np.int64(self.data.shape[int(axis)])

    def stride(self, axis: int) -> Any:
        """The elements from one index of an axis to the next."""
        return np.int64(self.data.strides[int(axis)] // self.data.dtype.itemsize)

    def describe(self) -> Note:
        """A note that describes the buffer, at its allocation."""
        where = SPACES.get(self.space, self.space)
        dtype = f"u{self.data.dtype.name}" if self.is_unsigned else self.data.dtype.name
        shape = tuple(int(extent) for extent in self.data.shape)
        return Note(f"{self.name} is {dtype} with shape {shape} in {where}", self.site)

    def copy(self) -> TileBuffer:
        """A buffer of its own with the same elements."""
        made = TileBuffer(
            self.name,
            self.data.copy(),
            self.space,
            None,
            self.site,
            is_unsigned=self.is_unsigned,
            safe=self.safe,
        )
        if self.shadow is not None:
            everything = tuple(slice(None) for _ in self.data.shape)
            made.shadow = Filled(np.array(self.shadow.defined(everything)))
        return made

    # -- views -------------------------------------------------------------------------------

    def view(
        self,
        shape: Sequence[Any],
        scalar: Any,
        strides: Sequence[Any] | None = None,
        *,
        offset: Any = 0,
        has_gaps: bool = False,
    ) -> TileBuffer:
        """The memory from an element on, with another shape or type.

        `offset` counts elements of this buffer, `strides` elements of the view. With `has_gaps` the
        rows of this buffer need not be contiguous; memory between them may belong to the view.
        """
        window = self._window(has_gaps)
        dtype, size = np.dtype(scalar), self.data.dtype.itemsize
        flat = memory_of(self.data)
        if dtype != flat.dtype:
            flat = self._as_elements(flat, dtype)
        extents = tuple(max(int(extent), 0) for extent in shape)
        start = int(offset) * size // dtype.itemsize
        view = Window.rows(extents, start)
        if strides is not None:
            view = Window(start, extents, tuple(int(stride) for stride in strides))
        made = TileBuffer(
            self.name, view.over(flat), self.space, None, self.site, is_unsigned=self.is_unsigned
        )
        made.pending = self.pending
        made.home = self.home
        made.origin = self.origin * size // dtype.itemsize + start
        elements = window.reach()[1] if self.capacity is None else self.capacity
        capacity = elements * size // dtype.itemsize
        made.capacity = capacity
        in_memory = replace(view, offset=made.origin)
        low, high = in_memory.reach()
        if low < 0 or high > capacity:
            made.limit = MemoryLimit(self.name, in_memory, capacity)
        if self.seen is not None:
            made.seen = self.seen.viewed(view, dtype.itemsize == size)
        if self.shadow is not None:
            made.shadow = self._viewed(view, dtype)
        return made

    def _window(self, has_gaps: bool) -> Window:
        """Where its elements are in its own memory."""
        found = Window.of_array(self.data)
        if found is None or not (has_gaps or self.data.flags.c_contiguous):
            raise RuntimeFault(
                "shape",
                f"view of {self.name}, whose elements are not contiguous",
                [self.describe(), f"pass a contiguous array for {self.name}"],
            )
        return found

    def _as_elements(self, flat: Any, dtype: np.dtype[Any]) -> Any:
        """A run of elements as one of another type, without bytes that do not make an element."""
        count = len(flat) * flat.dtype.itemsize // dtype.itemsize
        return flat[: count * dtype.itemsize // flat.dtype.itemsize].view(dtype)

    @property
    def is_gated(self) -> bool:
        """Whether accesses have to be checked against pending operations or a limit."""
        return bool(self.pending.parts) or self.limit is not None

    def check(self, index: Any, *, writes: bool, engine: str = "") -> None:
        """Report an access that conflicts with a pending operation, or leaves the memory."""
        if self.limit is not None:
            self.limit.check(self.name, index, writes=writes)
        self.pending.check(self.name, self.data, index, writes=writes, engine=engine)

    def slot(self, index: int) -> TileBuffer:
        """One of the versions along the first axis; the same object for the same version."""
        position = int(index)
        if position not in self.slots:
            self.slots[position] = self._make_slot(position)
        return self.slots[position]

    def _make_slot(self, position: int) -> TileBuffer:
        made = TileBuffer(
            self.name,
            self.data[position],
            self.space,
            None,
            self.site,
            is_unsigned=self.is_unsigned,
            safe=self.safe,
        )
        made.pending = self.pending
        made.home = self.home
        if isinstance(self.shadow, Filled):
            made.shadow = Filled(self.shadow.flags[position])
        elif isinstance(self.shadow, Owned):
            made.shadow = Owned(self.shadow.owners[position], self.shadow.me)
        return made

    def _viewed(self, window: Window, dtype: np.dtype[Any]) -> Shadow | None:
        shadow, size = self.shadow, self.data.dtype.itemsize
        if isinstance(shadow, Filled) and dtype.itemsize == size:
            return Filled(window.over(memory_of(shadow.flags)))
        if self.limit is not None:
            return None  # bytes of elements that do not exist have no owners
        if isinstance(shadow, Filled):
            flags = memory_of(shadow.flags)
            owners = np.repeat(flags.reshape(-1, 1), size, axis=1).astype(np.uint16)
            own = Window.of_array(self.data)
            assert own is not None
            shadow = self.shadow = Owned(own.over(owners), 1)
        assert isinstance(shadow, Owned)
        owners = memory_of(shadow.owners, 1).reshape(-1)
        count = len(owners) // dtype.itemsize
        owners = owners[: count * dtype.itemsize].reshape(count, dtype.itemsize)
        return Owned(window.over(owners), shadow.me)


def in_arena(
    arena: TileArena,
    name: str,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    offset_bytes: int,
    space: str,
    site: int | None,
) -> TileBuffer:
    """A buffer at an offset of an arena."""
    data = np.ndarray(shape, dtype, arena.bytes, offset_bytes)
    buffer = TileBuffer(name, data, space, None, site)
    buffer.home = arena
    buffer.pending = arena.pending
    arena.buffers.append(buffer)
    if arena.owners is not None:
        owners = np.ndarray((*shape, dtype.itemsize), np.uint16, arena.owners, 2 * offset_bytes)
        buffer.shadow = Owned(owners, len(arena.buffers))
    return buffer
