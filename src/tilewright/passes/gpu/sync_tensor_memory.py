"""`sync-tensor-memory`: threads are done with tensor memory before the tensor core uses it.

    tile.copy %p -> %P          every warp its lanes        tile.copy %p -> %P
    tile.tcgen05_gemm %P ...    one thread             ->   gpu.barrier {nv.role_barrier}
                                                            tile.tcgen05_gemm %P ...

A GEMM that reads what threads have stored, or overwrites what they load, is issued by one of them,
whatever the others do. A barrier of the threads that run both comes before it. So it is with a GEMM
that reports to an mbarrier for which they all have waited: the phase that it completes would be
over before the last of them has seen the one before. Threads of other roles arrive on an mbarrier
instead, which the user places. A loop is looked at twice, so that the end of an iteration counts
for the beginning of the next.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from tilewright.analysis.layout_inference.scopes import kernels, threads_of
from tilewright.analysis.layout_inference.tensor_memory import is_move, layout_of, sides
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.nv import MBarrierWaitOp
from tilewright.dialects.nv import names as nv_names
from tilewright.dialects.scf import ForOp, IfOp, WhileOp
from tilewright.dialects.tile import (
    AllocOp,
    CopyOp,
    Space,
    SyncOp,
    Tcgen05CommitOp,
    Tcgen05CopyScalesOp,
    Tcgen05GemmOp,
    WsOp,
    space_of,
)
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.interfaces import reads, writes
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.passes.tile.index_builder import IndexBuilder

_WARP = 32
_ISSUED = (Tcgen05GemmOp, Tcgen05CopyScalesOp, Tcgen05CommitOp)


@dataclass(frozen=True)
class SyncTensorMemory(Pass):
    """Insert barriers between moves of tensor memory and GEMMs of the same threads."""

    name = "sync-tensor-memory"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            _walk(kernel.body.block, set())


_Moved = set[tuple[SSAValue, bool]]
"""Buffers that threads have moved since their last barrier, and whether they wrote them; mbarriers
for which they have waited."""


def _share_columns(one: SSAValue, other: SSAValue) -> bool:
    """Whether two buffers are the same memory, or have columns in common."""
    if one is other:
        return True
    first, second = _columns(one), _columns(other)
    return bool(range(max(first.start, second.start), min(first.stop, second.stop)))


def _columns(buffer: SSAValue) -> range:
    alloc = buffer.owner
    start = alloc.attributes.get(nv_names.COLUMN) if isinstance(alloc, AllocOp) else None
    if not isinstance(start, IntegerAttr) or not isinstance(alloc, AllocOp):
        return range(0)
    return range(start.value.data, start.value.data + layout_of(alloc).columns)


def _walk(block: Block, moved: _Moved) -> None:
    for op in list(block.ops):
        if isinstance(op, WsOp):
            for region in op.regions:
                _walk(region.block, set())
        elif isinstance(op, IfOp):
            before = set(moved)
            for region in op.regions:
                if region.blocks:
                    after = set(before)
                    _walk(region.block, after)
                    moved |= after
        elif isinstance(op, ForOp | WhileOp):
            for _ in range(2):
                for region in op.regions:
                    _walk(region.block, moved)
        elif isinstance(op, CopyOp) and is_move(op):
            move = base_of(sides(op)[0]), space_of(op.dst.type) is Space.TMEM
            # Columns that two buffers share are divided over the warps of each in its own way.
            if any(
                other is not move[0] and _share_columns(other, move[0]) and (writes_it or move[1])
                for other, writes_it in moved
            ):
                _synchronise(op, moved)
            moved.add(move)
        elif isinstance(op, MBarrierWaitOp):
            moved.add((base_of(op.barrier), False))
        elif isinstance(op, SyncOp | BarrierOp):
            moved.clear()
        elif isinstance(op, _ISSUED) and _conflicts(op, moved):
            _synchronise(op, moved)


def _synchronise(op: Operation, moved: _Moved) -> None:
    if threads_of(op).count > _WARP:
        barrier = BarrierOp()
        barrier.attributes[nv_names.ROLE_BARRIER] = UnitAttr()
        IndexBuilder(op).add(barrier)
    moved.clear()


def _conflicts(op: Operation, moved: _Moved) -> bool:
    read, written = ({region.base for region in each(op)} for each in (reads, writes))
    if isinstance(op, Tcgen05GemmOp | Tcgen05CommitOp) and op.barrier is not None:
        written.add(base_of(op.barrier))
    return any(
        any(_share_columns(buffer, each) for each in written)
        or (is_write and any(_share_columns(buffer, each) for each in read))
        for buffer, is_write in moved
    )
