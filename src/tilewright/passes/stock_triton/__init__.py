"""What replaces each op that stock Triton does not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.ttg import AsyncCopyGlobalToLocalOp
from tilewright.dialects.ttng import AsyncTMACopyGlobalToLocalOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.rewrite import Rewriter
from tilewright.ir.traversal import walk
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


_DIALECTS = frozenset(
    (
        *("amdg", "arith", "builtin", "cf", "gluon", "gpu", "llvm", "math", "nvg", "nvvm"),
        *("rocdl", "scf", "tt", "ttg", "ttng", "ub"),
    )
)
"""Those that stock Triton registers."""

LACKING = frozenset(
    (
        "builtin.unregistered",
        "math.softsign",
        *(
            f"ttg.{name}"
            for name in (
                *("async_remote_shmem_copy", "async_remote_shmem_store", "remote_shmem_store"),
                *("clock64", "memdesc_dynamic_subslice", "memdesc_subview"),
                *("predicate_yield", "warp_predicate"),
            )
        ),
        *(
            f"ttng.{name}"
            for name in (
                *("async_bulk_copy_global_to_local", "async_bulk_copy_local_to_global"),
                *("async_clc_try_cancel", "clc_query_cancel", "async_store", "async_tma_prefetch"),
                *("arrive_barrier_named", "wait_barrier_named", "async_tma_store_token_wait"),
                *("cluster_arrive", "cluster_wait", "cluster_size_1d", "map_to_remote_buffer"),
                *("fence", "prefetch", "prefetch_tensormap", "vote_ballot_sync"),
            )
        ),
        *(
            f"amdg.{name}"
            for name in (
                *("assume_uniform", "local_load_packed_tranposed", "mfma_commit", "scheduled_mfma"),
                *("register_handoff", "register_resident", "rematerialized_range", "upcast_mxfp"),
            )
        ),
    )
)
"""Ops of ours in these dialects that no supported release has; a test compares them with the
installed one."""


def refuse_unreadable(module: ModuleOp, engine: DiagnosticEngine) -> None:
    """Report ops that Triton's parser does not know, by name and line."""
    for op in walk(module):
        reason = why_unreadable(op)
        if reason is not None:
            report(op, reason, engine)


def report(op: Operation, reason: str, engine: DiagnosticEngine) -> None:
    engine.error(op, f"'{op.name}' has no equivalent in stock Triton", NO_EQUIVALENT).note(
        None, reason
    )


def why_unreadable(op: Operation) -> str | None:
    """Why Triton's parser does not know `op`; None if it does."""
    dialect = op.name.partition(".")[0]
    if dialect not in _DIALECTS:
        return f"stock Triton has no dialect '{dialect}'"
    if op.name in LACKING:
        return UNKNOWN_OPS.get(op.name, _NOT_YET)
    return None


def why_unsupported(op: Operation) -> str | None:
    """Why `op` has no equivalent in stock Triton; None if it has one."""
    if op.name.startswith("tlx."):
        return "an earlier pass has to lower tlx ops"
    if isinstance(op, AsyncTMACopyGlobalToLocalOp) and op.multicast_targets is not None:
        return "a multicast copy is not supported where each CTA is a program of its own"
    if isinstance(op, AsyncCopyGlobalToLocalOp) and op.barrier is not None:
        return "a bulk copy that completes on an mbarrier is not supported"
    return UNKNOWN_OPS.get(op.name) or why_unreadable(op)
