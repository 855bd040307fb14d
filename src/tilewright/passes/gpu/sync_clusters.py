"""`sync-clusters`: blocks that reach into each other begin and end together.

    init barriers; fence; gpu.barrier         init barriers; fence; gpu.barrier
    ...                                 ->    cluster arrive; cluster wait
                                              ...
                                              cluster arrive; cluster wait

A tile that one block fetches for several, and an arrival at a barrier of another block, find
shared memory that must be set up, and must still be there: the memory of a block is given away when
it ends. Kernels in clusters whose blocks keep to themselves stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.gpu import BarrierOp
from tilewright.dialects.nv import (
    ClusterArriveOp,
    ClusterWaitOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    TmaLoadOp,
)
from tilewright.dialects.tile import AllocOp, KernelOp, Space
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.passes import Pass
from tilewright.ir.rewrite import inherit_location
from tilewright.ir.traversal import walk


@dataclass(frozen=True)
class SyncClusters(Pass):
    """Let blocks of a cluster wait for each other at the start and at the end of a kernel."""

    name = "sync-clusters"

    def run(self, module: ModuleOp, engine: DiagnosticEngine) -> None:
        for kernel in kernels(module):
            if prod(kernel.cluster_extents or (1,)) > 1 and _reaches_out(kernel):
                end = kernel.body.block.last_op
                assert end is not None
                _synchronise_before(end, kernel)
                start = _after_set_up(kernel)
                if start is not None:
                    _synchronise_before(start, kernel)


def _reaches_out(kernel: KernelOp) -> bool:
    for op in walk(kernel):
        if isinstance(op, TmaLoadOp) and op.multicast is not None:
            return True
        if isinstance(op, MBarrierArriveOp) and op.cta is not None:
            return True
        if isinstance(op, AllocOp) and op.space is Space.CLUSTER_BARRIER:
            return True
    return False


def _after_set_up(kernel: KernelOp) -> Operation | None:
    """The op after the barrier that `lower-barriers` left after the initialisation."""
    seen = False
    for op in kernel.body.block.ops:
        seen = seen or any(isinstance(inner, MBarrierInitOp) for inner in walk(op))
        if seen and isinstance(op, BarrierOp):
            return op.next_op
    return None


def _synchronise_before(op: Operation, kernel: KernelOp) -> None:
    block = op.parent
    assert block is not None
    for made in (ClusterArriveOp(), ClusterWaitOp()):
        inherit_location(made, kernel.location)
        block.insert_op_before(made, op)
