"""What replaces each op that stock Triton does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.ir import Operation

from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp
from tilewright.dialects.ttng import AsyncTMACopyGlobalToLocalOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.passes.stock_triton import machine
from tilewright.passes.stock_triton.barriers import arrive, named_arrive, named_wait

NO_EQUIVALENT = "TW6040"

Rewrite: TypeAlias = Callable[[Operation, Rewriter, DiagnosticEngine], None]

REWRITES: Mapping[str, Rewrite] = {
    "ttng.arrive_barrier": arrive,
    "ttng.wait_barrier_named": named_wait,
    "ttng.arrive_barrier_named": named_arrive,
    "ttng.fence": machine.fence,
    "ttng.fence_mbarrier_init_release_cluster": machine.publish_barriers,
    "ttng.cluster_arrive": machine.cluster_arrive,
    "ttng.cluster_wait": machine.cluster_wait,
    "ttng.cluster_size_1d": machine.cluster_size,
    "ttng.vote_ballot_sync": machine.ballot,
    "ttng.prefetch": machine.drop_hint,
    "ttng.prefetch_tensormap": machine.drop_hint,
    "ttng.async_tma_prefetch": machine.drop_hint,
    "nvg.cluster_id": machine.cluster_rank,
    "ttg.clock64": machine.clock,
    "gpu.thread_id": machine.thread_id,
}

_NO_ADDRESS = "the address of a buffer in another CTA is required"
_NOT_YET = "no equivalent op is supported"

UNKNOWN_OPS: Mapping[str, str] = {
    "ttng.map_to_remote_buffer": _NO_ADDRESS + "; Triton 3.9 can arrive on a remote mbarrier",
    "ttg.remote_shmem_store": _NO_ADDRESS,
    "ttg.async_remote_shmem_store": _NO_ADDRESS,
    "ttg.async_remote_shmem_copy": _NO_ADDRESS,
    "ttg.memdesc_dynamic_subslice": "stock Triton requires constant offsets of a view",
    "ttng.async_store": _NOT_YET,
    "ttng.async_clc_try_cancel": _NOT_YET,
    "ttng.clc_query_cancel": _NOT_YET,
    "ttng.vote_ballot_sync": "a ballot of a tensor is not supported; pass a scalar predicate",
    "ttng.fence": "the memory scope is unknown",
}
"""Ops without an equivalent in stock Triton, and why."""


def why_unsupported(op: Operation) -> str | None:
    """Why `op` has no equivalent in stock Triton; None if it has one."""
    if op.name.startswith("tlx."):
        return "an earlier pass has to lower tlx ops"
    if isinstance(op, AsyncTMACopyGlobalToLocalOp) and op.multicast_targets is not None:
        return "a multicast copy is not supported where each CTA is a program of its own"
    if isinstance(op, AsyncCopyGlobalToLocalOp) and op.barrier is not None:
        return "a bulk copy that completes on an mbarrier is not supported"
    return UNKNOWN_OPS.get(op.name)
