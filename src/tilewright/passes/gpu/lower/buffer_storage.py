"""Where the buffers of a kernel are at thread level.

A fragment becomes an array of each thread's registers; a shared buffer one run of elements, in the
order of its layout. Both are allocated where the tile-level allocation was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, UnitAttr, i64
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.integers.index_range import IndexRanges
from tilewright.analysis.layout_inference.scopes import Threads, threads_of
from tilewright.analysis.layout_inference.table import NotALayout, Table
from tilewright.dialects.amd import names as amd_names
from tilewright.dialects.arith import CmpiOp
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu import ThreadIdOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import AllocOp, AssumeOp, KernelOp, Space, SpaceAttr, space_of
from tilewright.dialects.tile import names as tile_names
from tilewright.dialects.tile.attributes import FragmentAttr, LayoutAttr
from tilewright.dialects.tile.expressions import Constant, Coordinate, LayoutExpr, as_expr
from tilewright.dialects.tile.maps import LayoutMap
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.reducers import ReducerAllocOp
from tilewright.dialects.tile.regions import RegionOp, ViewOp
from tilewright.dialects.tile.slots import SlotOp
from tilewright.dialects.type_utils import bit_width, element_type_of, shape_of
from tilewright.ir.traversal import walk
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined, written

ENGINE_BYTES = 128
"""The alignment in bytes of a tile that TMA writes."""
SWIZZLED_BYTES = 1024


@dataclass(frozen=True)
class Registers:
    """A fragment: each thread's share, and the owner of each element."""

    buffer: SSAValue
    table: Table


@dataclass(frozen=True)
class SharedMap:
    """The offsets of the elements of a shared buffer."""

    shape: tuple[int, ...]
    results: tuple[LayoutExpr, ...]
    physical: tuple[int, ...]
    swizzle: int = 0
    """The width of the swizzle in bytes, if tensor cores and TMA support it."""

    @property
    def size(self) -> int:
        return prod(self.physical)

    @property
    def is_plain(self) -> bool:
        """Whether elements are stored in row-major order."""
        return self.results == tuple(Coordinate(axis) for axis in range(len(self.shape)))

    @cached_property
    def run(self) -> int:
        """How many elements along the last dimension are contiguous everywhere."""
        if self.is_plain:
            return self.shape[-1]
        columns = self.offsets.reshape(-1, self.shape[-1])
        run = 1
        while run * 2 <= self.shape[-1] and self.shape[-1] % (run * 2) == 0:
            runs = columns.reshape(-1, run * 2)
            if (np.diff(runs, axis=1) != 1).any() or (runs[:, 0] % (run * 2)).any():
                break
            run *= 2
        return run

    def stride(self, axis: int, by: int) -> int | None:
        """The distance in memory of two elements `by` apart along a dimension, if that is the
        same everywhere.
        """
        if not 0 < by < self.shape[axis]:
            return None
        offsets = np.moveaxis(self.offsets, axis, 0)
        distances = offsets[by:] - offsets[:-by]
        first = int(distances.flat[0])
        return first if (distances == first).all() else None

    @cached_property
    def offsets(self) -> Any:
        """The offset of every element."""
        offset: Any = 0
        for found, size in zip(_evaluated(self.results, self.shape), self.physical, strict=True):
            offset = offset * size + found
        return offset

    def offset(self, code: IndexBuilder, indices: Sequence[Mixed]) -> Mixed:
        """The offset of an element."""
        offset: Mixed = 0
        for expression, size in zip(self.results, self.physical, strict=True):
            offset = combined(code, "*", offset, size)
            offset = combined(code, "+", offset, written(code, expression, indices))
        return offset

    def version(self) -> SharedMap:
        """The map of one version, of a buffer with several along its first dimension."""
        lowered = tuple(_shifted(each) for each in self.results[1:])
        return SharedMap(self.shape[1:], lowered, self.physical[1:], self.swizzle)


def _evaluated(results: Sequence[LayoutExpr], shape: Sequence[int]) -> list[Any]:
    points = list(np.indices(tuple(shape)))
    return [np.broadcast_to(np.asarray(each.evaluate(points)), tuple(shape)) for each in results]


def _shifted(expression: LayoutExpr) -> LayoutExpr:
    count = 8
    return as_expr(expression.evaluate([Coordinate(axis - 1) for axis in range(count)]))


@dataclass(frozen=True)
class SharedPart:
    """A shared buffer, or one version of it."""

    buffer: SSAValue
    start: Mixed
    """The offset of its first element."""
    map: SharedMap
    offsets: tuple[Mixed, ...] = ()
    """Where a part of the buffer begins, for each of the buffer's dimensions."""
    lost: int = 0
    """Leading dimensions of the buffer that the part does not have."""

    def offset(self, code: IndexBuilder, indices: Sequence[Mixed]) -> Mixed:
        if self.offsets:
            # Of an operand only the matrix is indexed.
            full = [0] * (len(self.offsets) - len(indices)) + list(indices)
            pairs = zip(self.offsets, full, strict=True)
            indices = [combined(code, "+", offset, index) for offset, index in pairs]
        return combined(code, "+", self.start, self.map.offset(code, indices))


@dataclass
class BufferStorage:
    """The buffers of one kernel, and its threads."""

    kernel: KernelOp
    registers: dict[SSAValue, Registers] = field(default_factory=dict[SSAValue, Registers])
    shared: dict[SSAValue, SharedPart] = field(default_factory=dict[SSAValue, SharedPart])
    _thread: SSAValue | None = None
    _ranges: IndexRanges | None = None

    def ranges(self) -> IndexRanges:
        """What is known of the numbers of the kernel before it is lowered."""
        if self._ranges is None:
            function = self.kernel.parent_op()
            while not isinstance(function, FuncOp):
                assert function is not None
                function = function.parent_op()
            self._ranges = IndexRanges(function)
        return self._ranges

    def prepare(self) -> None:
        """Make the thread-level buffers."""
        first = self.kernel.body.block.first_op
        assert first is not None
        self._thread = IndexBuilder(first).add(ThreadIdOp("x")).results[0]
        self._thread.name_hint = "tid"
        for op in list(walk(self.kernel)):
            if isinstance(op, AllocOp):
                self._alloc(op)
            elif isinstance(op, ReducerAllocOp):
                self._registers(op, op.result, op.buffer_name, op.attributes.get(simt_names.LAYOUT))

    def _alloc(self, op: AllocOp) -> None:
        element = element_type_of(op.result.type)
        if op.space is Space.FRAGMENT:
            self._registers(op, op.result, op.buffer_name, op.layout)
        elif op.space.is_shared:
            map = _shared_map(op)
            size = map.size
            if _is_ring(op):
                versions = shape_of(op.result.type)[0]
                size = versions * slot_size(map.version().size, bit_width(element))
            type = _flat_type(element, size, op.space)
            new = AllocOp(type, name=op.buffer_name, alias=op.alias, offset=op.offset_bytes)
            new.is_private = op.is_private
            for name in (amd_names.OWN_ARRAY, tile_names.ROTATING):
                if name in op.attributes:
                    new.attributes[name] = UnitAttr()
            IndexBuilder(op).add(new)
            align = ENGINE_BYTES if map.is_plain else SWIZZLED_BYTES
            new.attributes[simt_names.ALIGN] = IntegerAttr(align, i64)
            if any(isinstance(use.operation, SlotOp) for use in op.result.uses):
                versions = shape_of(op.result.type)[0]
                new.attributes[simt_names.VERSIONS] = IntegerAttr(versions, i64)
            self.shared[op.result] = SharedPart(new.result, 0, map)

    def _registers(self, op: Operation, buffer: SSAValue, name: str, layout: object) -> None:
        if layout is None and not any(True for _ in buffer.uses):
            return  # its storage was never requested
        assert isinstance(layout, FragmentAttr), "layouts have been inferred"
        table = Table.from_map(layout.data)
        type = _flat_type(element_type_of(buffer.type), table.num_registers, Space.LOCAL)
        new = AllocOp(type, name=name)
        IndexBuilder(op).add(new)
        self.registers[buffer] = Registers(new.result, table)

    def is_lowered(self, buffer: SSAValue) -> bool:
        """Whether a shared buffer is one of those made here, or such a one seen otherwise."""
        if isinstance(buffer.owner, ViewOp):
            return self.is_lowered(buffer.owner.source)
        return isinstance(buffer.owner, AllocOp) and buffer not in self.shared

    def thread(self, code: IndexBuilder, threads: Threads) -> Mixed:
        """The number of the running thread among `threads`."""
        assert self._thread is not None
        if threads.first == 0:
            return self._thread
        if threads.first % threads.count == 0 and threads.count & (threads.count - 1) == 0:
            return code.modulo(self._thread, threads.count)
        index = code.index(code.minus(self._thread, threads.first))
        # No other op states that only these threads get here.
        inside = code.add(CmpiOp("slt", index, code.index(threads.count))).results[0]
        not_negative = code.add(CmpiOp("sge", index, code.index(0))).results[0]
        code.add(AssumeOp(not_negative))
        code.add(AssumeOp(inside))
        return index

    def thread_at(self, code: IndexBuilder, op: Operation) -> Mixed:
        return self.thread(code, threads_of(op))

    def shared_part(self, code: IndexBuilder, buffer: SSAValue) -> SharedPart:
        """The shared memory that a buffer, a version or a view stands for."""
        found = self.shared.get(buffer)
        if found is not None:
            return found
        owner = buffer.owner
        if isinstance(owner, SlotOp):
            ring = self.shared_part(code, owner.ring)
            inside = ring.map.version()
            size = inside.size
            if isinstance(owner.ring.owner, AllocOp) and _is_ring(owner.ring.owner):
                size = slot_size(size, bit_width(element_type_of(owner.ring.type)))
            start = combined(code, "*", owner.index, size)
            return SharedPart(ring.buffer, combined(code, "+", ring.start, start), inside)
        if isinstance(owner, ViewOp):
            return self._view(code, owner)
        if isinstance(owner, RegionOp):
            return self._part(code, owner)
        raise AssertionError(f"not a shared buffer: {buffer.type}")

    def _part(self, code: IndexBuilder, op: RegionOp) -> SharedPart:
        """A part of a buffer: one matrix of several, or some rows and columns of one."""
        whole = self.shared_part(code, op.base)
        lost = len(op.offsets) - len(shape_of(op.result.type))
        if all(extent == 1 for extent in op.extents[:-2]) and _keeps_matrix(op):
            inside = whole.map
            start = whole.start
            for offset in op.offsets[:-2]:
                inside = inside.version()
                start = combined(code, "+", start, combined(code, "*", offset, inside.size))
            return SharedPart(whole.buffer, start, inside)
        return SharedPart(whole.buffer, whole.start, whole.map, tuple(op.offsets), lost)

    def _view(self, code: IndexBuilder, op: ViewOp) -> SharedPart:
        part = self.shared_part(code, op.source)
        shape = shape_of(op.result.type)
        same = element_type_of(op.source.type) == element_type_of(op.result.type)
        if same:
            return SharedPart(part.buffer, part.start, _seen_as(part.map, shape), part.offsets)
        if not part.map.is_plain or part.offsets:
            raise NotALayout(
                "swizzled buffer viewed with another element type; give it a plain "
                "layout with T.annotate_layout, or copy it"
            )
        size = prod(shape)
        type = _flat_type(element_type_of(op.result.type), size, Space.SHARED)
        bits = bit_width(element_type_of(op.source.type))
        start = combined(code, "*", part.start, bits)
        start = combined(code, "floordiv", start, bit_width(element_type_of(op.result.type)))
        seen = code.add(ViewOp(part.buffer, type)).results[0]
        return SharedPart(seen, start, plain(shape))


def _keeps_matrix(op: RegionOp) -> bool:
    shape = shape_of(op.base.type)
    return tuple(op.extents[-2:]) == shape[-2:] and tuple(op.offsets[-2:]) == (0, 0)


def _is_ring(op: AllocOp) -> bool:
    """Whether a buffer is only used version by version."""
    uses = [use.operation for use in op.result.uses]
    return bool(uses) and all(isinstance(each, SlotOp) for each in uses)


def slot_size(elements: int, bits: int) -> int:
    """The elements from one version of a buffer to the next, so that each begins well."""
    unit = max(1, ENGINE_BYTES * 8 // bits)
    return -(-elements // unit) * unit


def plain(shape: Sequence[int]) -> SharedMap:
    """Elements row after row."""
    sizes = tuple(shape)
    return SharedMap(sizes, tuple(Coordinate(axis) for axis in range(len(sizes))), sizes)


def _seen_as(map: SharedMap, shape: tuple[int, ...]) -> SharedMap:
    """The same offsets, for elements that are indexed along other dimensions."""
    if map.is_plain:
        return plain(shape)
    linear: LayoutExpr = Constant(0)
    for axis, size in enumerate(shape):
        linear = linear * size + Coordinate(axis)
    found: list[LayoutExpr] = []
    for size in reversed(map.shape[1:]):
        found.append(linear % size)
        linear = linear // size
    coordinates = [linear, *reversed(found)]
    results = tuple(as_expr(each.evaluate(coordinates)) for each in map.results)
    return SharedMap(shape, results, map.physical, map.swizzle if _merges(map, shape) else 0)


def _merges(map: SharedMap, shape: tuple[int, ...]) -> bool:
    """Whether a swizzle is that of the matrix with the rows of all matrices, too.

    Its patterns follow each other in the order of the rows if all of a row is in one of them.
    """
    return len(shape) == 2 and shape[-1] == map.shape[-1] and map.physical[-3:-2] == (1,)


def _shared_map(op: AllocOp) -> SharedMap:
    shape = shape_of(op.result.type)
    if not isinstance(op.layout, LayoutAttr):
        return plain(shape)
    map: LayoutMap = op.layout.data
    locations = map.evaluate(*np.indices(shape))
    physical = tuple(int(np.max(each)) + 1 for each in locations)
    swizzle = op.attributes.get(nv_names.SWIZZLE)
    width = swizzle.value.data if isinstance(swizzle, IntegerAttr) else 0
    return SharedMap(shape, map.results, physical, width)


def _flat_type(element: object, size: int, space: Space) -> MemRefType:
    from xdsl.ir import Attribute

    assert isinstance(element, Attribute)
    return MemRefType(element, (size,), NoneAttr(), SpaceAttr(space))


def is_registers(value: SSAValue) -> bool:
    return space_of(value.type) is Space.FRAGMENT


def bytes_of(value: SSAValue) -> int:
    """Bytes of an element."""
    return bit_width(element_type_of(value.type)) // 8
