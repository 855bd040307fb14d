"""Copies by TMA, cp.async and between CTAs, and requests for more work.

TMA and bulk copies report bytes to a barrier; cp.async and TMA stores are waited for in groups.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation, SSAValue

from tilewright.analysis.alias_sync.machine import AliasRange
from tilewright.analysis.concurrency import Steps
from tilewright.dialects.ttg.copies import (
    AsyncCopyGlobalToLocalOp,
    AsyncRemoteShmemCopyOp,
    AsyncRemoteShmemStoreOp,
    AsyncWaitOp,
    RemoteShmemStoreOp,
)
from tilewright.dialects.ttng.cluster import AsyncCLCTryCancelOp, CLCQueryCancelOp
from tilewright.dialects.ttng.descriptors import (
    AsyncBulkCopyGlobalToLocalOp,
    AsyncBulkCopyLocalToGlobalOp,
    AsyncStoreOp,
)
from tilewright.dialects.ttng.tma import (
    AsyncTMACopyGlobalToLocalOp,
    AsyncTMACopyLocalToGlobalOp,
    AsyncTMAGatherOp,
    AsyncTMAReduceOp,
    AsyncTMAScatterOp,
    TMAStoreWaitOp,
)
from tilewright.passes.tlx.alias_sync.rules.barriers import barrier_of, wait_groups
from tilewright.passes.tlx.alias_sync.rules.buffers import at_rank, nothing, proxy_of, record_access
from tilewright.passes.tlx.alias_sync.views import View
from tilewright.passes.tlx.alias_sync.walk import Rule, Walk

_RESPONSE_BYTES = 16
"""The size of a response of cluster launch control."""


def _ranks(walk: Walk, op: Operation, multicast: SSAValue | None) -> list[int]:
    if multicast is None:
        return []
    bits = walk.decided(op, multicast, "the multicast mask")
    return [rank for rank in range(walk.run.kernel.cluster_size) if bits >> rank & 1]


def _tma_load(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncTMACopyGlobalToLocalOp | AsyncTMAGatherOp)
    yield None
    if not walk.holds(op, op.pred):
        return
    target, barrier = walk.view(op, op.result), walk.view(op, op.barrier)
    views, barriers = [target], [barrier]
    if isinstance(op, AsyncTMACopyGlobalToLocalOp) and op.multicast_targets is not None:
        ranks = _ranks(walk, op, op.multicast_targets)
        views = [at_rank(walk, target, rank) for rank in ranks]
        barriers = [at_rank(walk, barrier, rank) for rank in ranks]
    walk.run.machine.issue(
        walk.task,
        f"the TMA load into {target.name}",
        f"tma of CTA {walk.rank}",
        walk.position(op),
        [AliasRange(view.region(), proxy_of(view, "async"), writes=True) for view in views],
        delivers=[
            (barrier_of(walk, op, target_barrier), view.size_bytes)
            for view, target_barrier in zip(views, barriers, strict=True)
        ],
    )


def _bulk_load(walk: Walk, op: Operation, target: View, size: int, barrier: SSAValue) -> None:
    if len(target.shape) == 1:
        target = target.slice([0], (size // target.item,))
    walk.run.machine.issue(
        walk.task,
        f"the bulk copy into {target.name}",
        f"tma of CTA {walk.rank}",
        walk.position(op),
        [AliasRange(target.region(), "async", writes=True)],
        delivers=[(barrier_of(walk, op, walk.view(op, barrier)), size)],
    )


def _bulk(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncBulkCopyGlobalToLocalOp)
    yield None
    if walk.holds(op, op.pred):
        size = walk.decided(op, op.size, "the size of a copy")
        _bulk_load(walk, op, walk.view(op, op.dst), size, op.barrier)


def _copy(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncCopyGlobalToLocalOp)
    yield None
    target, machine = walk.view(op, op.result), walk.run.machine
    nothing(walk, op)
    if op.barrier is not None:
        size = target.size_bytes
        if op.bulk_size is not None:
            size = walk.decided(op, op.bulk_size, "the size of a copy")
        _bulk_load(walk, op, target, size, op.barrier)
        return
    issued = machine.issue(
        walk.task,
        f"the copy into {target.name}",
        f"cp.async of CTA {walk.rank}",
        walk.position(op),
        [AliasRange(target.region(), "generic", writes=True)],
    )
    machine.groups(walk.task, "cp.async").issue(issued)


def _commit_copies(walk: Walk, op: Operation) -> None:
    walk.run.machine.groups(walk.task, "cp.async").commit()
    nothing(walk, op)


def _wait_copies(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncWaitOp)
    nothing(walk, op)
    yield from wait_groups(walk, op, "cp.async", op.num.value.data)


def _wait_stores(walk: Walk, op: Operation) -> Steps:
    leave = op.pendings.value.data if isinstance(op, TMAStoreWaitOp) else 0
    yield from wait_groups(walk, op, "TMA store", leave)


def _tma_store(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncTMACopyLocalToGlobalOp | AsyncTMAReduceOp | AsyncTMAScatterOp)
    yield None
    mnemonic = "reduction" if isinstance(op, AsyncTMAReduceOp) else "store"
    _read_out(walk, op, op.src, f"the TMA {mnemonic} of")
    nothing(walk, op)


def _bulk_store(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncStoreOp | AsyncBulkCopyLocalToGlobalOp)
    yield None
    if isinstance(op, AsyncStoreOp) or walk.holds(op, op.pred):
        _read_out(walk, op, op.src, "the bulk store of")


def _read_out(walk: Walk, op: Operation, source: SSAValue, operation: str) -> None:
    view, machine = walk.view(op, source), walk.run.machine
    issued = machine.issue(
        walk.task,
        f"{operation} {view.name}",
        f"tma stores of CTA {walk.rank}",
        walk.position(op),
        [AliasRange(view.region(), "async")],
    )
    machine.groups(walk.task, "TMA store").issue_alone(issued)


def _remote_store(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, RemoteShmemStoreOp)
    yield None
    rank = walk.decided(op, op.cta_rank, "the rank of a CTA")
    record_access(walk, op, at_rank(walk, walk.view(op, op.dst), rank), writes=True)


def _remote_async(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, AsyncRemoteShmemStoreOp | AsyncRemoteShmemCopyOp)
    yield None
    rank = walk.decided(op, op.cta_rank, "the rank of a CTA")
    there = at_rank(walk, walk.view(op, op.dst), rank)
    barrier = walk.view(op, op.barrier)
    if barrier.storage.cta == walk.rank:
        barrier = at_rank(walk, barrier, rank)
    parts = [AliasRange(there.region(), "async", writes=True)]
    operation = f"the store into {there.name}"
    if isinstance(op, AsyncRemoteShmemCopyOp):
        source = walk.view(op, op.src)
        parts.insert(0, AliasRange(source.region(), "async"))
        operation = f"the copy of {source.name}"
    walk.run.machine.issue(
        walk.task,
        f"{operation} to CTA {rank}",
        f"remote stores of CTA {walk.rank}",
        walk.position(op),
        parts,
        delivers=[(barrier_of(walk, op, barrier), there.size_bytes)],
    )


# Cluster launch control.


def _try_cancel(walk: Walk, op: Operation) -> Steps:
    """Request more work; the first CTA issues it, all get the response."""
    assert isinstance(op, AsyncCLCTryCancelOp)
    yield None
    if walk.rank:
        return
    ranks = range(walk.run.kernel.cluster_size)
    response, barrier = walk.view(op, op.clc_res_alloc), walk.view(op, op.mbar_alloc)
    views = [at_rank(walk, response, rank) for rank in ranks]
    walk.run.machine.issue(
        walk.task,
        f"the request for work into {response.name}",
        f"launch control of CTA {walk.rank}",
        walk.position(op),
        [AliasRange(view.region(), "async", writes=True) for view in views],
        delivers=[
            (barrier_of(walk, op, at_rank(walk, barrier, rank)), _RESPONSE_BYTES) for rank in ranks
        ],
    )


def _query_cancel(walk: Walk, op: Operation) -> Steps:
    """The n-th query of a task reads the n-th response: there is work until loops are done."""
    assert isinstance(op, CLCQueryCancelOp)
    yield None
    view = walk.view(op, op.clc_res_alloc)
    record_access(walk, op, view, writes=False)
    looked = walk.looked = walk.looked + 1
    has_work = looked < walk.run.trips
    walk.run.depends_on_trips = True
    for axis, result in enumerate(op.results):
        walk.env[result] = -1 if not has_work else looked if axis == 0 else 0


RULES: Mapping[str, Rule] = {
    "ttng.async_tma_copy_global_to_local": _tma_load,
    "ttng.async_tma_gather": _tma_load,
    "ttng.async_bulk_copy_global_to_local": _bulk,
    "ttg.async_copy_global_to_local": _copy,
    "ttg.async_commit_group": _commit_copies,
    "ttg.async_wait": _wait_copies,
    "ttng.async_tma_copy_local_to_global": _tma_store,
    "ttng.async_tma_reduce": _tma_store,
    "ttng.async_tma_scatter": _tma_store,
    "ttng.async_bulk_copy_local_to_global": _bulk_store,
    "ttng.async_store": _bulk_store,
    "ttng.async_tma_store_wait": _wait_stores,
    "ttng.async_tma_store_token_wait": _wait_stores,
    "ttg.remote_shmem_store": _remote_store,
    "ttg.async_remote_shmem_store": _remote_async,
    "ttg.async_remote_shmem_copy": _remote_async,
    "ttng.async_clc_try_cancel": _try_cancel,
    "ttng.clc_query_cancel": _query_cancel,
}
