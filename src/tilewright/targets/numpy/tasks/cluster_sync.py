"""CTAs of a cluster synchronise before the first may signal another, and before the first exits.

A CTA that signals the barrier of another one needs that barrier to be initialised, and one that
exits takes its memory along. TLX's compiler inserts a cluster barrier after the initialisations at
the start of such a kernel, and at its end unless ``tlx.no_ending_cluster_sync`` is set; so does
this pass, on the IR that is about to run.
"""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation

from tilewright.dialects.tt.functions import FuncOp
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttng.barriers import ArriveBarrierOp, InitBarrierOp
from tilewright.dialects.ttng.cluster import CLCTryCancelOp, ClusterBarrierOp
from tilewright.dialects.ttng.tcgen05 import TCGen5CommitOp, TCGen5MMAOp, TCGen5MMAScaledOp
from tilewright.dialects.ttng.tma import AsyncTMACopyGlobalToLocalOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
from tilewright.passes.tlx.fixup import NO_ENDING_CLUSTER_SYNC, USER_POST_WS_SYNC

_REACHES_OUT = frozenset(
    (
        "ttng.map_to_remote_buffer",
        "ttng.async_clc_try_cancel",
        "ttg.remote_shmem_store",
        "ttg.async_remote_shmem_store",
        "ttg.async_remote_shmem_copy",
    )
)


def _reaches_out(op: Operation) -> bool:
    """Whether an op accesses another CTA."""
    if isinstance(op, AsyncTMACopyGlobalToLocalOp):
        return op.multicast_targets is not None
    if isinstance(op, ArriveBarrierOp):
        return op.is_multicast
    if isinstance(op, CLCTryCancelOp):
        return bool(op.multicast.value.data)
    if isinstance(op, TCGen5MMAOp | TCGen5MMAScaledOp | TCGen5CommitOp):
        return op.two_ctas is not None
    return op.name in _REACHES_OUT


def synchronise_clusters(module: ModuleOp, kernel: FuncOp) -> None:
    """Insert the cluster barriers that are required."""
    if len(kernel.body.blocks) != 1 or not any(_reaches_out(op) for op in walk(kernel)):
        return
    block = kernel.body.blocks[0]
    _allocate_first(block)
    inits = [op for op in block.ops if any(isinstance(each, InitBarrierOp) for each in walk(op))]
    rewriter = Rewriter()
    if inits:
        rewriter.insert_after(inits[-1], ClusterBarrierOp())
    end = block.last_op
    is_free = USER_POST_WS_SYNC in module.attributes or any(
        NO_ENDING_CLUSTER_SYNC in op.attributes for op in walk(kernel)
    )
    if end is not None and not is_free:
        rewriter.insert_before(end, ClusterBarrierOp())


def _allocate_first(block: Block) -> None:
    """Move buffers to the start: on a GPU they are there before anything runs.

    What another CTA writes into a buffer would be lost if the buffer began after the barrier.
    """
    buffers = [
        op for op in block.ops if isinstance(op, LocalAllocOp | TMEMAllocOp) and op.src is None
    ]
    for op in reversed(buffers):
        op.detach()
        first = block.first_op
        assert first is not None
        block.insert_op_before(op, first)
