"""Memory as ops see it: global tensors, the shared arena, registers.

All are runs of elements addressed by one index. `read` and `write` take one index per thread (or
one for all) and move `lanes` consecutive elements of each; indices must be within bounds, and wide
accesses must be aligned, as the hardware requires.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from xdsl.ir import Operation

from tilewright.targets.numpy.simt.shadow import Shadow, ShadowAccess
from tilewright.targets.numpy.simt.state import BlockRun, Frame
from tilewright.targets.numpy.support.select import where
from tilewright.targets.numpy.windows import Window

_MAX_WATCHED = 1 << 16
"""Elements of a tensor that is read and written, beyond which its races are not checked."""
_BITS: dict[int, Any] = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}


def bits_of(values: Any) -> Any:
    """The same elements as integers, to compare them by their bits."""
    return values.view(_BITS[values.dtype.itemsize])


def runs_from(index: Any, lanes: int) -> Any:
    """The `lanes` elements from each index on."""
    steps: Any = np.arange(lanes)
    return index[:, None] + steps


def checked(frame: Frame, name: str, size: int, index: Any, lanes: int) -> None:
    """Check that all elements accessed by active threads are within bounds."""
    if index.ndim == 0:
        low = high = int(index)
    else:
        active_index = index if frame.mask is None else index[frame.mask]
        if not active_index.size:
            return
        low, high = int(active_index.min()), int(active_index.max())
    if low >= 0 and high + lanes <= size:
        return
    wrong = low if low < 0 else high + lanes - 1
    where = np.flatnonzero((frame.wide(index) == (low if low < 0 else high)) & frame.active)
    raise frame.problem(
        "out of bounds",
        f"access out of bounds: thread {int(frame.tids[where[0]])} accesses {name}[{wrong}], "
        f"but '{name}' has {size} elements",
    )


def aligned(frame: Frame, name: str, index: Any, lanes: int, base: int, size: int) -> None:
    """A wide access begins at a multiple of its bytes."""
    if lanes == 1:
        return
    wide = lanes * size
    active_index = frame.wide(index)[frame.active]
    off = (base + active_index * size) % wide != 0
    if off.any():
        where = int(np.argmax(off))
        raise frame.problem(
            "misaligned",
            f"misaligned access: thread {int(frame.active_tids[where])} accesses {wide} bytes at "
            f"{name}[{active_index[where]}], whose address is not a multiple of {wide}",
        )


class Memory:
    """Base of buffers."""

    name: str
    size: int

    def read(self, frame: Frame, index: Any, lanes: int) -> Any:
        """[threads, lanes]; what inactive threads get means nothing."""
        raise NotImplementedError

    def write(self, frame: Frame, index: Any, values: Any) -> None:
        """`values` is [threads, lanes]."""
        raise NotImplementedError


@dataclass(eq=False)
class Registers(Memory):
    """An array that each thread has for itself: [threads of the block, elements]."""

    name: str
    data: Any
    flight: Any = None
    """How many in-flight wgmmas write each register; None if no wgmma ever does."""
    unsettled: Any = None
    """Which were written by wgmma and have had no operand fence yet."""
    taken: Any = None
    """How many in-flight wgmmas read each register."""
    changed: Any = None
    """When each was last written by its thread."""
    loading: Any = None
    """Which an in-flight load from tensor memory writes."""

    def __post_init__(self) -> None:
        self.size = self.data.shape[1]

    def track(self) -> None:
        """Track these registers: asynchronous operations use them."""
        self.flight = np.zeros(self.data.shape, np.int16)
        self.unsettled = np.zeros(self.data.shape, np.bool_)
        self.taken = np.zeros(self.data.shape, np.int16)
        self.changed = np.zeros(self.data.shape, np.int32)
        self.loading = np.zeros(self.data.shape, np.bool_)

    def load(self, frame: Frame, index: Any) -> Any:
        """One element of each thread."""
        checked(frame, self.name, self.size, index, 1)
        if self.flight is not None:
            self._check_free(frame, index, 1)
        if index.ndim == 0:
            return self.data[frame.rows, index].copy()
        return self.data[frame.tids, self._inside(frame, index)]

    def store(self, frame: Frame, index: Any, value: Any) -> None:
        checked(frame, self.name, self.size, index, 1)
        if self.flight is not None:
            self._check_free(frame, index, 1, writes=True)
        if index.ndim == 0 and isinstance(frame.rows, slice):
            target = self.data[frame.rows, index]
            np.copyto(target, value, where=frame.active)
            return
        rows, mask = frame.active_tids, frame.active
        self.data[rows, frame.wide(index)[mask]] = frame.wide(value)[mask]

    def read(self, frame: Frame, index: Any, lanes: int) -> Any:
        checked(frame, self.name, self.size, index, lanes)
        aligned(frame, self.name, index, lanes, 0, self.data.itemsize)
        if self.flight is not None:
            self._check_free(frame, index, lanes)
        if index.ndim == 0:
            return self.data[frame.rows, index : index + lanes].copy()
        columns = runs_from(self._inside(frame, index), lanes)
        return self.data[frame.tids[:, None], np.minimum(columns, self.size - 1)]

    def write(self, frame: Frame, index: Any, values: Any) -> None:
        lanes = values.shape[1]
        checked(frame, self.name, self.size, index, lanes)
        aligned(frame, self.name, index, lanes, 0, self.data.itemsize)
        if self.flight is not None:
            self._check_free(frame, index, lanes, writes=True)
        mask = frame.active
        columns = runs_from(frame.wide(index)[mask], lanes)
        self.data[frame.active_tids[:, None], columns] = values[mask]

    def _inside(self, frame: Frame, index: Any) -> Any:
        """Indices that can be looked up for threads that take no part, too."""
        return index if frame.mask is None else where(frame.mask, index, 0)

    def _check_free(self, frame: Frame, index: Any, lanes: int, *, writes: bool = False) -> None:
        """Check that no register is accessed while wgmma or a load from tensor memory uses it."""
        rows = frame.active_tids[:, None]
        columns = frame.wide(index)[frame.active][:, None] + np.arange(lanes)
        if frame.block.options.checked:
            loading = self.loading[rows, columns]
            if loading.any():
                element = f"{self.name}[{int(np.broadcast_to(columns, loading.shape)[loading][0])}]"
                raise frame.problem(
                    "in flight",
                    f"access to {element} while an in-flight tcgen05.ld writes it; "
                    "nv.tcgen05.wait_ld is missing before the access",
                )
            if self.unsettled[rows, columns].any():
                self._complain(frame, rows, columns)
            if writes and self.taken[rows, columns].any():
                raise frame.problem(
                    "in flight",
                    f"write to '{self.name}' while an in-flight wgmma reads it; "
                    "nv.wgmma.wait is missing before the write",
                )
        if writes:
            self.changed[rows, columns] = frame.tick()

    def _complain(self, frame: Frame, rows: Any, columns: Any) -> None:
        flying = self.flight[rows, columns]
        wrong = flying > 0 if flying.any() else self.unsettled[rows, columns]
        element = f"{self.name}[{int(columns[wrong][0])}]"
        if flying.any():
            text = f"access to {element} while an in-flight wgmma writes it"
            raise frame.problem("in flight", f"{text}; nv.wgmma.wait is missing before the access")
        raise frame.problem(
            "in flight",
            f"access to {element} after nv.wgmma.wait, but before nv.wgmma.fence_operand",
        )

    # -- whole fragments -----------------------------------------------------------------------

    def fragment(self, frame: Frame, index: Any, count: int, *, writes: bool = False) -> Any:
        """Rows and columns of `count` registers of the active threads, to be read or written."""
        checked(frame, self.name, self.size, index, count)
        if self.flight is not None:
            self._check_free(frame, index, count, writes=writes)
        columns = frame.wide(index)[frame.active][:, None] + np.arange(count)
        return frame.active_tids[:, None], columns


@dataclass(eq=False)
class SharedBuffer(Memory):
    """Elements of the shared arena."""

    name: str
    block: BlockRun
    base: int
    """First byte."""
    size: int
    dtype: np.dtype[Any]

    def __post_init__(self) -> None:
        end = self.base + self.size * self.dtype.itemsize
        self.data = self.block.arena[self.base : end].view(self.dtype)
        span = self.base, end, self.name, self.dtype.itemsize
        if span not in self.block.spans:
            self.block.spans.append(span)

    def address(self, index: Any) -> Any:
        """The byte in the arena."""
        return self.base + index * self.dtype.itemsize

    def read(self, frame: Frame, index: Any, lanes: int) -> Any:
        checked(frame, self.name, self.size, index, lanes)
        aligned(frame, self.name, index, lanes, self.base, self.dtype.itemsize)
        index = frame.wide(index)
        if frame.block.options.checked and frame.op is not None:
            shadow = self.block.shadow
            start = self.address(index[frame.active])
            access = shadow.access(start, lanes * self.dtype.itemsize, frame.active_tids)
            shadow.read_by_threads(frame.op, access)
        inside = index if frame.mask is None else np.where(frame.mask, index, 0)
        return self.data[inside[:, None] + np.arange(lanes)]

    def write(self, frame: Frame, index: Any, values: Any) -> None:
        lanes = values.shape[1]
        checked(frame, self.name, self.size, index, lanes)
        aligned(frame, self.name, index, lanes, self.base, self.dtype.itemsize)
        active_index = frame.wide(index)[frame.active]
        if frame.block.options.checked and frame.op is not None:
            shadow = self.block.shadow
            start = self.address(active_index)
            access = shadow.access(start, lanes * self.dtype.itemsize, frame.active_tids)
            shadow.write_by_threads(
                frame.op,
                access,
                lambda: holds(self.data, active_index, values[frame.active], access),
            )
        scatter(frame, self.name, self.data, active_index, values[frame.active])


@dataclass(eq=False)
class GlobalBuffer(Memory):
    """A tensor of the caller, as a run of elements."""

    name: str
    data: Any
    tensor: Any = None
    """The same memory with the tensor's own shape."""
    is_watched: bool = False
    """Whether threads of a block may get in each other's way: they read and write it."""
    lead: int = 0
    """Elements of its memory before the first, if it is a view."""

    def __post_init__(self) -> None:
        self.size = self.data.shape[0]

    def watched(self) -> GlobalBuffer:
        """The same tensor for a kernel that reads and writes it."""
        return replace(self, is_watched=self.size <= _MAX_WATCHED)

    def view(self, frame: Frame, start: int, dtype: np.dtype[Any], window: Window) -> GlobalBuffer:
        """The memory from element `start` on, with another shape, as another type perhaps."""
        if start < 0:
            raise frame.problem(
                "out of bounds", f"a view starts {-start} elements before '{self.name}'"
            )
        size = self.data.itemsize
        data, lead = self.data[start:], (self.lead + start) * size // dtype.itemsize
        if dtype != data.dtype:
            data = data[: len(data) * size // dtype.itemsize * dtype.itemsize // size].view(dtype)
        return GlobalBuffer(self.name, data, window.over(data), self.is_watched, lead)

    def read(self, frame: Frame, index: Any, lanes: int) -> Any:
        aligned(frame, self.name, index, lanes, self.lead_bytes, self.data.itemsize)
        return self._read(frame, index, lanes)

    def read_anywhere(self, frame: Frame, index: Any, lanes: int) -> Any:
        """A read that begins at any element: the aligned units that have its elements are read."""
        start = frame.wide(index)
        skip = (self.lead + start) % lanes
        last = start - skip + where(skip > 0, 2 * lanes, lanes) - 1
        checked(frame, self.name, self.size, last, 1)
        return self._read(frame, index, lanes)

    def _read(self, frame: Frame, index: Any, lanes: int) -> Any:
        checked(frame, self.name, self.size, index, lanes)
        index = frame.wide(index)
        if self.is_watched:
            self._watch(frame, index[frame.active], lanes)
        inside = index if frame.mask is None else where(frame.mask, index, 0)
        return self.data[runs_from(inside, lanes)]

    def write(self, frame: Frame, index: Any, values: Any) -> None:
        lanes = values.shape[1]
        checked(frame, self.name, self.size, index, lanes)
        aligned(frame, self.name, index, lanes, self.lead_bytes, self.data.itemsize)
        active_index = frame.wide(index)[frame.active]
        if self.is_watched:
            self._watch(frame, active_index, lanes, values[frame.active])
        scatter(frame, self.name, self.data, active_index, values[frame.active])

    @property
    def lead_bytes(self) -> int:
        """From the start of its memory, which is aligned, to its first element."""
        return self.lead * self.data.itemsize

    def _element(self, index: int) -> str:
        return f"{self.name}[{index}]"

    def _watch(self, frame: Frame, index: Any, lanes: int, written: Any = None) -> None:
        """Note an access, a write if values are given."""
        if not frame.block.options.checked or frame.op is None:
            return
        shadow = self._shadow(frame)
        access = shadow.access(self.lead + index, lanes, frame.active_tids)
        if written is None:
            shadow.read_by_threads(frame.op, access)
            return
        shadow.write_by_threads(frame.op, access, lambda: holds(self.data, index, written, access))

    def watch_update(self, op: Operation, frame: Frame, index: Any, threads: Any) -> None:
        """Note an atomic update of one element by each of these threads."""
        if self.is_watched and frame.block.options.checked:
            shadow = self._shadow(frame)
            shadow.update_by_threads(op, shadow.access(self.lead + index, 1, threads))

    def _shadow(self, frame: Frame) -> Shadow:
        """Views of one memory share it, if their elements have the same size."""
        block, size = frame.block, self.data.itemsize
        key = self.data.__array_interface__["data"][0] - self.lead_bytes, size
        shadow = block.tensors.get(key)
        if shadow is None:
            count = self.lead + self.size
            shadow = Shadow(block.tensor_clocks, count, 1, self._element, is_filled=True)
            block.tensors[key] = shadow
        return shadow


def holds(data: Any, index: Any, values: Any, access: ShadowAccess) -> Any:
    """Whether memory already holds what is written, by granule."""
    same = bits_of(data[runs_from(index, values.shape[1])]) == bits_of(values)
    return np.repeat(same.ravel(), len(access.granules) // same.size)


def scatter(frame: Frame, name: str, data: Any, index: Any, values: Any) -> None:
    """Write runs of elements; threads that write the same element must write equal values."""
    indices = runs_from(index, values.shape[1])
    data[indices] = values
    if not frame.block.options.checked:
        return
    differ = bits_of(data[indices]) != bits_of(values)
    if differ.any():
        element = int(indices[differ][0])
        raise frame.problem(
            "race",
            f"data race on {name}[{element}]: several threads write different values concurrently",
        )


@dataclass(eq=False)
class BarrierBuffer(Memory):
    """A row of barriers in shared memory."""

    name: str
    base: int
    size: int
    key: object = None
    """What makes it: the buffer of another block of the cluster has the same."""
    barriers: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        self.barriers = [None] * self.size


@dataclass(frozen=True, eq=False)
class TensorMap:
    """The box of a tensor that a TMA copy moves, and its swizzle in shared memory."""

    name: str
    tensor: Any
    box: tuple[int, ...]
    swizzle: int
    fill: str
    capacity: int
    """Elements of memory from the first one on."""
    lead_bytes: int = 0
    """Bytes of memory before the first element."""
    expands: bool = False
    """Whether 8 bytes of the tensor, with 16 elements, are the first of 16 in shared memory; the
    box counts bytes of the tensor."""

    @property
    def itemsize(self) -> int:
        return self.tensor.dtype.itemsize

    @property
    def bytes(self) -> int:
        """Of the tensor, that a copy moves."""
        return int(np.prod(self.box)) * self.itemsize

    @property
    def shared_bytes(self) -> int:
        """Of shared memory, over which they are distributed."""
        return self.bytes * (2 if self.expands else 1)
