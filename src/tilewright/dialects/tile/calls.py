"""Ops as the user of ``T`` wrote them, for messages: ``T.copy`` for ``tile.copy``."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.tile.hints import SyncOp

CALLS = {
    "memref.store": "assignment",
    "nv.cluster.arrive": "T.cluster_arrive",
    "nv.grid.trigger": "T.pdl_trigger",
    "nv.grid.wait": "T.pdl_sync",
    "nv.cluster.wait": "T.cluster_wait",
    "nv.cp_async": "T.ptx_cp_async",
    "nv.cp_async.commit": "T.ptx_commit_group",
    "nv.cp_async.mbarrier_arrive": "T.cp_async_barrier_noinc",
    "nv.cp_async.wait": "T.ptx_wait_group",
    "nv.fence_proxy_async": "T.fence_proxy_async",
    "nv.mbarrier.arrive": "T.mbarrier_arrive",
    "nv.mbarrier.arrive_expect_tx": "T.mbarrier_arrive_expect_tx",
    "nv.mbarrier.expect_tx": "T.mbarrier_expect_tx",
    "nv.mbarrier.wait": "T.mbarrier_wait_parity",
    "nv.setmaxnreg": "T.set_max_nreg",
    "nv.tma_store.commit": "T.tma_store_arrive",
    "nv.tma_store.wait": "T.tma_store_wait",
    "nv.wgmma.wait": "T.wait_wgmma",
    "scf.for": "for",
    "scf.if": "if",
    "scf.while": "while",
    "tile.copy": "T.copy",
    "tile.fill": "T.fill",
    "tile.gemm": "T.gemm",
    "tile.im2col": "T.im2col",
    "tile.parallel": "T.Parallel",
    "tile.pipeline": "T.Pipelined",
    "tile.print": "T.print",
    "tile.reducer.finalize": "T.finalize_reducer",
    "tile.transpose": "T.transpose",
    "tile.ws": "T.ws",
}
"""By the name of the op; ops that several calls make are left out."""
_SYNC = {
    "block": "T.sync_threads",
    "warp": "T.sync_warp",
    "grid": "T.sync_grid",
    "cluster": "T.cluster_sync",
}


def call_text(op: Operation) -> str:
    """The call that makes `op`, or the name of the op where that is not known."""
    if isinstance(op, SyncOp):
        return _SYNC[op.scope.data]
    return CALLS.get(op.name, op.name)
