"""`lower-barriers`: mbarriers are initialised before any thread can use them.

    tile.alloc init [1, 128] : 2x!nv.mbarrier    ->    if tid == 0 { init both; fence }; barrier

All barriers of a kernel by one thread, together, at its start
(docs/design/scheduling.md#mbarriers).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Block, Operation, Region

from tilewright.analysis.layout_inference.scopes import kernels, threads_of
from tilewright.dialects.amd.names import EXPLICIT
from tilewright.dialects.arith import CmpiOp
from tilewright.dialects.gpu import BarrierOp, ThreadIdOp
from tilewright.dialects.nv import BarOp, FenceBarrierInitOp, MBarrierInitOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.dialects.simt.target import amd_chip_of
from tilewright.dialects.tile import AllocOp, KernelOp
from tilewright.dialects.tile.base import integer_of
from tilewright.dialects.tile.hints import SyncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.arch import arch_of
from tilewright.passes.tile.index_builder import IndexBuilder

_HOPPER = 90


@dataclass(frozen=True)
class LowerBarriers(Pass):
    """Set up barriers at the start of a kernel."""

    name = "lower-barriers"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            for op in list(walk(kernel)):
                if isinstance(op, SyncOp):
                    _lower_sync(op)
            barriers = [
                op for op in walk(kernel) if isinstance(op, AllocOp) and op.space.is_barrier
            ]
            if not barriers:
                continue
            if arch_of(kernel) < _HOPPER:
                diagnostic = engine.error(
                    barriers[0],
                    "T.alloc_barrier() requires sm_90 (Hopper) or later, but the current target is "
                    f"sm_{arch_of(kernel)}",
                    "TW4001",
                )
                diagnostic.note(
                    None, "help: use T.sync_threads() to synchronise all threads of a block"
                )
                return
            _initialise(kernel, barriers)


def _lower_sync(op: SyncOp) -> None:
    """An explicit `T.sync_threads` of the block; other scopes stay as they are."""
    if op.scope.data != "block":
        return
    code = IndexBuilder(op)
    if op.barrier_id is None:
        barrier = BarrierOp()
        barrier.attributes.update(op.attributes)
        if amd_chip_of(op) is not None:
            barrier.attributes[EXPLICIT] = UnitAttr()
        code.add(barrier)
    else:
        threads = integer_of(op.arrive_count) or threads_of(op).count
        code.add(BarOp("sync", op.barrier_id.value.data, threads))
    code.rewriter.erase(op)


def _initialise(kernel: KernelOp, barriers: list[AllocOp]) -> None:
    block = kernel.body.block
    for each in barriers:
        each.detach()
    first = block.first_op
    assert first is not None
    for each in barriers:
        block.insert_op_before(each, first)
    code = IndexBuilder(first)
    tid = code.add(ThreadIdOp("x")).results[0]
    leads = code.add(CmpiOp("eq", tid, code.index(0))).results[0]
    body = Block([YieldOp()])
    code.add(IfOp(leads, [], Region(body)))
    inside = code.inside(body)
    for each in barriers:
        for index, count in enumerate(each.arrive_counts or ()):
            inside.add(_at(MBarrierInitOp(each.result, inside.index(index), count), each))
    inside.add(FenceBarrierInitOp())
    code.add(BarrierOp())


def _at(op: Operation, origin: Operation) -> Operation:
    op.location = origin.location
    return op
