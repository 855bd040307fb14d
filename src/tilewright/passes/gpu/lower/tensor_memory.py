"""Tensor memory of a block: allocation, addresses, and moves to and from registers.

    slot: 4 bytes of shared memory                 at the start
    if warp 0 { alloc slot; relinquish }
    barrier; base = slot
    ...
    barrier; if warp 0 { dealloc base }           at the end

A pair of blocks allocates together, and waits for each other before it frees.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, MemRefType, NoneAttr, UnitAttr, i32
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import GROUP, threads_of
from tilewright.analysis.layout_inference.tensor_memory import TmemLayout, layout_of, move_of, sides
from tilewright.dialects.arith import (
    AddiOp,
    AndiOp,
    CmpiOp,
    ConstantOp,
    IndexCastOp,
    ShliOp,
    ShrsiOp,
)
from tilewright.dialects.gpu import BarrierOp, ThreadIdOp
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.nv import (
    ClusterArriveOp,
    ClusterWaitOp,
    Tcgen05AllocOp,
    Tcgen05DeallocOp,
    Tcgen05FenceOp,
    Tcgen05LdOp,
    Tcgen05RelinquishOp,
    Tcgen05StOp,
    Tcgen05WaitLdOp,
    Tcgen05WaitStOp,
)
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.simt.target import NVIDIA_WARP
from tilewright.dialects.tile import AllocOp, CopyOp, KernelOp, Space, SpaceAttr, space_of
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.mixed import Mixed
from tilewright.dialects.tile.tensor_memory import is_of_pair
from tilewright.dialects.type_utils import shape_of
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lower.buffer_storage import BufferStorage
from tilewright.passes.gpu.lower.loops import opened
from tilewright.passes.tile.index_builder import IndexBuilder
from tilewright.passes.tile.layout_expressions import combined
from tilewright.passes.tile.tile_regions import matrix_axes, part_of

_LANE_BITS = (5, 3, 21)
"""A warp's index is the thread's without 5 bits; its last two, a quarter of lanes, begin at 21."""


@dataclass(frozen=True)
class TensorMemory:
    """The columns of a block."""

    base: SSAValue

    def address(self, code: IndexBuilder, column: Mixed) -> SSAValue:
        """Lane 0 of a column, an ``i32``."""
        if column == 0:
            return self.base
        if isinstance(column, int):
            offset = code.add(ConstantOp.of(column, i32)).results[0]
        else:
            offset = code.add(IndexCastOp(column, i32)).results[0]
        return code.add(AddiOp(self.base, offset)).results[0]


def group_of(kernel: KernelOp) -> int:
    """Blocks that a tensor core instruction of the kernel works for."""
    return 2 if any(is_of_pair(op) for op in walk(kernel)) else 1


def open_tensor_memory(kernel: KernelOp) -> TensorMemory | None:
    """Allocate at the start of a kernel and free at its end, if it uses tensor memory."""
    columns = kernel.attributes.get(nv_names.TMEM_COLUMNS)
    if not isinstance(columns, IntegerAttr):
        return None
    count, group = columns.value.data, group_of(kernel)
    block = kernel.body.block
    first, end = block.first_op, block.last_op
    assert first is not None and end is not None
    code = IndexBuilder(first)
    type = MemRefType(i32, (1,), NoneAttr(), SpaceAttr(Space.SHARED))
    alloc = AllocOp(type, name="tmem_address")
    alloc.attributes[nv_names.TMEM_ADDRESS] = UnitAttr()
    slot = code.add(alloc).results[0]
    inside = opened(code, _is_first_warp(code))
    inside.add(Tcgen05AllocOp(slot, inside.index(0), count, group=group))
    inside.add(Tcgen05RelinquishOp(group=group))
    code.add(Tcgen05FenceOp("before"))
    code.add(BarrierOp())
    code.add(Tcgen05FenceOp("after"))
    base = code.add(LoadOp(slot, [code.index(0)])).results[0]
    base.name_hint = "tmem"
    code = IndexBuilder(end)
    code.add(Tcgen05FenceOp("before"))
    if group > 1:
        code.add(ClusterArriveOp())
        code.add(ClusterWaitOp())
    else:
        code.add(BarrierOp())
    inside = opened(code, _is_first_warp(code))
    inside.add(Tcgen05FenceOp("after"))
    inside.add(Tcgen05DeallocOp(base, count, group=group))
    return TensorMemory(base)


def _is_first_warp(code: IndexBuilder) -> SSAValue:
    tid = code.add(ThreadIdOp("x")).results[0]
    return code.add(CmpiOp("ult", tid, code.index(NVIDIA_WARP))).results[0]


@dataclass(frozen=True)
class TmemPart:
    """A part of a buffer in tensor memory."""

    layout: TmemLayout
    column: Mixed
    """Of its first element."""

    def moved(self, code: IndexBuilder, elements: int) -> Mixed:
        """The column of an element further along a row."""
        assert elements % self.layout.per_column == 0, "checked where instructions are chosen"
        return combined(code, "+", self.column, elements // self.layout.per_column)


def tmem_part(code: IndexBuilder, value: SSAValue) -> TmemPart:
    """Where a buffer, or a region of one, begins."""
    alloc = base_of(value).owner
    assert isinstance(alloc, AllocOp)
    layout = layout_of(alloc)
    start = alloc.attributes[nv_names.COLUMN]
    assert isinstance(start, IntegerAttr)
    part = part_of(value)
    *outer, _, column = part.offsets
    stage = outer[0] if outer else 0
    found = combined(code, "*", stage, layout.stage_columns)
    found = combined(code, "+", found, start.value.data)
    inside = combined(code, "floordiv", column, layout.per_column)
    return TmemPart(layout, combined(code, "+", found, inside))


def lower_move(op: CopyOp, storage: BufferStorage, memory: TensorMemory) -> None:
    """Replace a copy between tensor memory and a fragment by the moves of each warp."""
    value, fragment = sides(op)
    is_load = space_of(op.src.type) is Space.TMEM
    code = IndexBuilder(op)
    part = tmem_part(code, value)
    threads = threads_of(op)
    rows, width = shape_of(fragment.type)[-2:]
    region = part_of(value)
    assert [region.extents[axis] for axis in matrix_axes(region)] == [rows, width]
    move = move_of(rows, width, part.layout, threads)
    # More threads than lanes: each 128 have columns of their own.
    column: Mixed = part.column
    if move.groups > 1:
        group = combined(code, "floordiv", storage.thread_at(code, op), GROUP)
        step = move.elements // part.layout.per_column
        column = combined(code, "+", column, combined(code, "*", group, step))
    base = code.add(AddiOp(memory.address(code, column), _lane(code))).results[0]
    registers = storage.registers[base_of(fragment)].buffer
    per_register = 32 // part.layout.bits
    columns_each = 1 if part.layout.is_packed else per_register
    in_pairs = part.layout.has_low_halves
    is_wide = move.shape == "16x256b"
    done = 0  # columns, or pairs of them, of a row
    for repeats in move.repeats(move.elements // per_register):
        address = base
        if done:
            offset = code.add(ConstantOp.of(done * columns_each, i32)).results[0]
            address = code.add(AddiOp(base, offset)).results[0]
        # 8 columns of 16 lanes take 4 registers.
        index = code.index((done // 2 if is_wide else done) * per_register)
        if is_load:
            made: Operation = Tcgen05LdOp(
                address, (registers, index), move.shape, repeats, pack16=in_pairs
            )
        else:
            made = Tcgen05StOp((registers, index), address, move.shape, repeats, unpack16=in_pairs)
        code.add(made)
        done += repeats * (8 if is_wide else 1)
    code.add(Tcgen05WaitLdOp() if is_load else Tcgen05WaitStOp())
    code.rewriter.erase(op)


def _lane(code: IndexBuilder) -> SSAValue:
    """The first lane of the quarter that the running warp may access, as part of an address."""
    tid = code.add(ThreadIdOp("x")).results[0]
    thread = code.add(IndexCastOp(tid, i32)).results[0]
    five, three, shift = (code.add(ConstantOp.of(each, i32)).results[0] for each in _LANE_BITS)
    warp = code.add(ShrsiOp(thread, five)).results[0]
    quarter = code.add(AndiOp(warp, three)).results[0]
    return code.add(ShliOp(quarter, shift)).results[0]
