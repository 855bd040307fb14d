"""Shared and tensor memory of a CTA as bytes, and views of them.

Shared memory is a row of bytes. Tensor memory is 128 rows of columns, 4 bytes each; here it is a
row of bytes as well, one memory row after the other, so a tile is strided by the length of a row.

A view is a start, a shape and strides in bytes: buffers that share bytes really do. Elements of a
tile are stored in row-major order; the permutation within the tile (swizzles) is not modelled. A
read through the layout of the write does not depend on it. Bytes written through one layout and
read through another, after a reinterpretation or through an alias, are other bytes on a GPU than
here: every byte has its layout recorded, and such reads are reported (`state.reads`). Tiles of
tensor memory that are not plain (several blocks, scale factors) take the same rows and columns,
filled in row-major order.

    bytes      its bytes; they select their entries of a table with one per byte of the arena
    pending    parts that asynchronous operations still read or write
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tilewright.analysis.ordering import StridedBytes
from tilewright.targets.numpy.tile.support.problems import Note, RuntimeFault, count_text

if TYPE_CHECKING:
    from tilewright.targets.numpy.tasks.support.operations import AsyncOperation


@dataclass(frozen=True)
class ArenaKind:
    """The layout of a buffer type in bytes."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes; those of tensor memory count rows by `pitch`."""
    dtype: np.dtype[Any]
    in_tensor_memory: bool = False
    block: tuple[int, int] | None = None
    """Rows and bytes of the part of each row that a tile fills in row-major order."""
    layout: str = ""
    """How bytes of a tile are permuted on the hardware; empty if they are not."""


@dataclass(frozen=True)
class Allocation:
    """A buffer and its offset."""

    name: str
    kind: ArenaKind
    offset: int
    """In bytes of the arena's first row."""
    size: int
    """Bytes, of each row in tensor memory."""
    source_id: int


@dataclass(eq=False)
class TaskArena:
    """One memory of one CTA."""

    name: str
    cta: int
    """Rank in the cluster."""
    size: int
    """Bytes, all rows."""
    pitch: int = 0
    """Bytes of a row of tensor memory, 0 for shared memory."""
    is_tracked: bool = True
    keeps_layouts: bool = False
    """Whether buffers may share bytes, so that bytes must remember how they were written."""
    pending: list[Held] = field(default_factory=lambda: list[Held]())

    def __post_init__(self) -> None:
        self.data = np.full(self.size, 0xFF, np.uint8)  # poison: NaN in every float type
        self.filled = np.zeros(self.size if self.is_tracked else 0, np.bool_)
        self.layouts = np.zeros(self.size if self.keeps_layouts else 0, np.uint16)

    @property
    def is_tensor_memory(self) -> bool:
        return self.pitch > 0


@dataclass(eq=False)
class Held:
    """Bytes that an operation works on."""

    view: View
    writes: bool
    operation: AsyncOperation


@dataclass(frozen=True, eq=False)
class View:
    """Some bytes of an arena as a tensor."""

    arena: TaskArena
    name: str
    start: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    root: Allocation
    block: tuple[int, int] | None = None
    levels: tuple[tuple[int | None, int], ...] = ()
    """Radices and strides of the first dimension, where it is not a single stride."""
    problem: str | None = None
    """Why the view is invalid; reported when it is used."""
    leaf: str = ""
    """The buffer of a storage alias it belongs to; these share bytes."""
    layout: str = ""
    peers: tuple[TaskArena, ...] = ()
    """The same memory of all CTAs of the cluster, by rank."""
    _parts: dict[int, View] = field(default_factory=lambda: dict[int, View](), init=False)
    """Cache of `index`: kernels use the same few views again and again."""

    # -- views -------------------------------------------------------------------------------

    def index(self, which: Any) -> View:
        """One of several buffers; of a row of single elements, a row of one."""
        i = int(which)
        found = self._parts.get(i)
        if found is None:
            found = self._parts[i] = self._index(i)
        return found

    def _index(self, i: int) -> View:
        extent = self.shape[0]
        problem = self.problem
        if problem is None and not 0 <= i < extent:
            problem = f"buffer out of bounds: {self.name}[{i}], but the extent is {extent}"
        keeps = len(self.shape) == 1
        return replace(
            self,
            name=f"{self.name}[{i}]",
            start=self.start + self._step(i if problem is None else 0),
            shape=(1,) if keeps else self.shape[1:],
            strides=self.strides if keeps else self.strides[1:],
            levels=(),
            problem=problem,
        )

    def _step(self, i: int) -> int:
        if not self.levels:
            return i * self.strides[0]
        total = 0
        for radix, stride in self.levels:
            total += (i if radix is None else i % radix) * stride
            i = 0 if radix is None else i // radix
        return total

    def slice(self, offsets: Sequence[Any], shape: tuple[int, ...]) -> View:
        """A part that starts at `offsets`; leading dimensions may be dropped."""
        starts = [int(each) for each in offsets]
        dropped = len(self.shape) - len(shape)
        extents = (1,) * dropped + shape
        problem = self.problem
        for start, extent, whole in zip(starts, extents, self.shape, strict=True):
            if problem is None and not 0 <= start <= whole - extent:
                problem = (
                    f"slice out of bounds: {start}:{start + extent} of {self.name}, whose shape is "
                    f"{self.shape}"
                )
        if problem is None and self.block is not None and extents != self.shape:
            problem = f"slice of {self.name} not modelled: its tile is stored in blocks"
        step = sum(i * s for i, s in zip(starts, self.strides, strict=True))
        listed = ", ".join(f"{i}:{i + n}" for i, n in zip(starts, extents, strict=True))
        return replace(
            self,
            name=f"{self.name}[{listed}]",
            start=self.start + (step if problem is None else 0),
            shape=shape,
            strides=self.strides[dropped:],
            problem=problem,
        )

    def transposed(self, order: tuple[int, ...]) -> View:
        """Dimension `order[i]` becomes dimension i."""
        return replace(
            self,
            shape=tuple(self.shape[axis] for axis in order),
            strides=tuple(self.strides[axis] for axis in order),
        )

    def reshaped(self, shape: tuple[int, ...]) -> View:
        """The same elements in another shape."""
        array = self.array().view()
        try:
            array.shape = shape
        except AttributeError:
            return replace(self, problem=f"{self.name} cannot be reshaped to {shape} in place")
        return replace(self, shape=shape, strides=array.strides)

    def seen_as(self, kind: ArenaKind, name: str) -> View:
        """The same bytes as a buffer of another type."""
        return replace(
            self,
            name=name or self.name,
            shape=kind.shape,
            strides=kind.strides,
            dtype=kind.dtype,
            block=kind.block,
            levels=(),
            layout=kind.layout,
        )

    def placed(
        self, kind: ArenaKind, name: str, offset: int, levels: tuple[tuple[int | None, int], ...]
    ) -> View:
        """Buffers at given addresses of this one."""
        view = self.seen_as(kind, name)
        return replace(view, start=self.start + offset, levels=levels, leaf=view.name)

    def at_rank(self, rank: Any) -> View:
        """The same offset in another CTA of the cluster."""
        index = int(rank)
        if not 0 <= index < len(self.peers):
            count = count_text(len(self.peers), "CTA")
            problem = f"CTA rank {index} is out of bounds in a cluster of {count}"
            return replace(self, problem=self.problem or problem)
        return replace(self, arena=self.peers[index])

    # -- bytes -------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * self.dtype.itemsize

    def require(self) -> None:
        """Raise if the view is invalid."""
        if self.problem is not None:
            raise RuntimeFault("out of bounds", self.problem, self.notes())

    def notes(self) -> list[Note | str]:
        return [Note(f"{self.root.name} is allocated here", self.root.source_id)]

    def array(self) -> Any:
        """The elements, to read or write in place."""
        return np.ndarray(self.shape, self.dtype, self.arena.data.data, self.start, self.strides)

    @cached_property
    def bytes(self) -> StridedBytes:
        """Its bytes of the arena."""
        if self.block is not None:
            return StridedBytes(self.start, self.block, (self.arena.pitch, 1))
        return StridedBytes.of_tile(self.start, self.shape, self.strides, self.dtype.itemsize)

    @cached_property
    def filled(self) -> Any:
        """Whether its bytes hold something, to read or write in place."""
        return self.bytes.cells(self.arena.filled)

    def read(self) -> Any:
        """A copy of the elements."""
        if self.block is None:
            return self.array().copy()
        flat = np.ascontiguousarray(self.bytes.cells(self.arena.data)).reshape(-1)
        return flat[: self.nbytes].view(self.dtype).reshape(self.shape)

    def write(self, values: Any) -> None:
        """Replace the elements; values of one element go everywhere."""
        if self.block is None:
            self.array()[...] = values
            return
        cells = self.bytes.cells(self.arena.data)
        full = np.ascontiguousarray(np.broadcast_to(values, self.shape), self.dtype)
        raw = full.reshape(-1).view(np.uint8)
        cells[...] = np.resize(raw, cells.size).reshape(cells.shape)

    @cached_property
    def box(self) -> tuple[int, int, int, int]:
        """First and last row and byte of a row, ends excluded; shared memory is one row."""
        pitch = self.arena.pitch
        if self.block is not None:
            row, low = divmod(self.start, pitch)
            return row, row + self.block[0], low, low + self.block[1]
        if not pitch:
            last = sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))
            return 0, 1, self.start, self.start + last + self.dtype.itemsize
        row, low = divmod(self.start, pitch)
        rows, width = 1, self.dtype.itemsize
        for extent, stride in zip(self.shape, self.strides, strict=True):
            if stride >= pitch:
                rows += (extent - 1) * (stride // pitch)
            else:
                width += (extent - 1) * stride
        return row, row + rows, low, low + width

    @property
    def is_dense(self) -> bool:
        """Whether every byte of its box belongs to the view."""
        row, end, low, high = self.box
        return self.block is not None or (end - row) * (high - low) == self.nbytes

    def overlap(self, other: View) -> int:
        """How many bytes two views have in common."""
        if self.arena is not other.arena:
            return 0
        a, b = self.box, other.box
        rows = min(a[1], b[1]) - max(a[0], b[0])
        width = min(a[3], b[3]) - max(a[2], b[2])
        if rows <= 0 or width <= 0:
            return 0
        if self.is_dense and other.is_dense:
            return rows * width
        painted = np.zeros(self.arena.size, np.bool_)
        self.bytes.cells(painted)[...] = True
        return int(other.bytes.cells(painted).sum())


def conflict(view: View, *, writes: bool, engine: str = "") -> tuple[Held, int] | None:
    """A pending operation that an access disturbs, or is disturbed by, and the common bytes.

    Operations of one engine that works in order do not disturb each other.
    """
    for held in view.arena.pending:
        if not (writes or held.writes):
            continue
        if engine and held.operation.engine == engine and held.operation.in_order:
            continue
        shared = view.overlap(held.view)
        if shared:
            return held, shared
    return None
