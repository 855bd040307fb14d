"""Clusters of CTAs: writes into each other's shared memory, and work taken over from CTAs that have
not started.

*Cluster launch control* assigns the tiles of a grid while it runs. A producer requests, the
response comes to all CTAs of the cluster, and each consumer reads the number of a tile, -1 when
there are no more::

    context = tlx.clc_create_context(num_consumers=3)
    tlx.clc_producer(context, p_producer)          request the next tile
    tile = tlx.clc_consumer(context, p_consumer)   the response
"""

from __future__ import annotations

from tilewright.dialects import arith
from tilewright.dialects.nvg import ClusterIdOp
from tilewright.dialects.ttg import (
    AsyncRemoteShmemCopyOp,
    AsyncRemoteShmemStoreOp,
    LocalAllocOp,
    RemoteShmemStoreOp,
)
from tilewright.dialects.ttng import AsyncCLCTryCancelOp, CLCQueryCancelOp
from tilewright.frontend.builder import current
from tilewright.language.tl.aggregates import aggregate
from tilewright.language.tl.constants import scalar_constant
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.dtypes import int1, int32
from tilewright.language.tl.operands import indices
from tilewright.language.tl.tensor import Operand, emit, tensor
from tilewright.language.tlx.barriers import (
    alloc_barriers,
    barrier_arrive,
    barrier_expect_bytes,
    barrier_wait,
    known_integer,
)
from tilewright.language.tlx.layouts import swizzled_shared_layout_encoding
from tilewright.language.tlx.storage import (
    buffered_tensor,
    clc_response,
    clc_response_type,
    mbarrier,
    storage_kind,
)

_RESPONSE_BYTES = 16
_NO_TILE = -1


# -- shared memory of other CTAs ------------------------------------------------------------------


def _check_remote(name: str, dst: buffered_tensor, rank: object) -> None:
    if dst.type.storage != storage_kind.smem:
        raise AssertionError(
            f"{name} only supports local smem for dst. dst will be internally mapped to "
            "remote_cta_rank's shmem"
        )
    if rank is None:
        raise AssertionError(f"remote_cta_rank is required for {name}")


def remote_shmem_store(dst: buffered_tensor, src: tensor, remote_cta_rank: Operand) -> None:
    """Write a tensor into the buffer at the offset of `dst` in another CTA of the cluster."""
    _check_remote("remote_shmem_store", dst, unwrap(remote_cta_rank))
    rank = indices((remote_cta_rank,))[0]
    current().insert(RemoteShmemStoreOp(src.handle, dst.handle, rank.handle))


def async_remote_shmem_store(
    dst: buffered_tensor, src: tensor, remote_cta_rank: Operand, barrier: mbarrier
) -> None:
    """Start writing a tensor into the buffer of another CTA, and complete on its barrier."""
    _check_remote("async_remote_shmem_store", dst, unwrap(remote_cta_rank))
    if barrier is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise AssertionError("barrier is required for async_remote_shmem_store")
    rank = indices((remote_cta_rank,))[0]
    current().insert(AsyncRemoteShmemStoreOp(src.handle, dst.handle, rank.handle, barrier.handle))


def async_remote_shmem_copy(
    dst: buffered_tensor, src: buffered_tensor, remote_cta_rank: Operand, barrier: mbarrier
) -> None:
    """Start copying a buffer into that of another CTA, and complete on its barrier."""
    if src.type.storage != storage_kind.smem:
        raise AssertionError("async_remote_shmem_copy requires local smem src")
    if dst.type.storage != storage_kind.smem:
        raise AssertionError(
            "async_remote_shmem_copy requires local smem dst (will be mapa'd to remote CTA)"
        )
    if unwrap(remote_cta_rank) is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise AssertionError("remote_cta_rank is required for async_remote_shmem_copy")
    if barrier is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise AssertionError("barrier is required for async_remote_shmem_copy")
    rank = indices((remote_cta_rank,))[0]
    current().insert(AsyncRemoteShmemCopyOp(src.handle, dst.handle, rank.handle, barrier.handle))


# -- cluster launch control -----------------------------------------------------------------------


@aggregate
class CLCPipelineContext:
    """Barriers and responses of a ring buffer of requests."""

    clc_mbars_empty: mbarrier
    clc_mbars_full: mbarrier
    clc_responses: clc_response


def alloc_clc_responses(num_responses: int | constexpr) -> clc_response:
    """Allocate slots for responses."""
    count = known_integer(num_responses, "num_responses")
    layout = swizzled_shared_layout_encoding.make_default(1)
    op = current().insert(LocalAllocOp(clc_response_type(count, layout).to_ir()))
    return clc_response(op.result, count, layout)


def clc_issue(clc_response_addr: clc_response, barrier: mbarrier) -> None:
    """Request the work of a CTA that has not started; complete on `barrier`."""
    if not isinstance(clc_response_addr, clc_response):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError(f"clc_issue takes a clc_response, got {clc_response_addr}")
    current().insert(AsyncCLCTryCancelOp(barrier.handle, clc_response_addr.handle))


def clc_query(clc_response_addr: clc_response) -> tuple[tensor, tensor, tensor]:
    """The tile coordinates of a response, of this CTA in the cluster; -1 if there are none."""
    if not isinstance(clc_response_addr, clc_response):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise AssertionError(f"clc_query takes a clc_response, got {clc_response_addr}")
    op = current().insert(CLCQueryCancelOp(clc_response_addr.handle))
    x, y, z = (tensor(value, int32) for value in op.results)
    rank = emit(ClusterIdOp(), int32)
    none = scalar_constant(_NO_TILE, int32)
    is_none = emit(arith.CmpiOp("eq", x.handle, none.handle), int1)
    moved = emit(arith.AddiOp(x.handle, rank.handle), int32)
    x = emit(arith.SelectOp(is_none.handle, x.handle, moved.handle), int32)
    return x, y, z


def clc_create_context(
    num_consumers: int | constexpr, num_stages: int | constexpr = 1
) -> CLCPipelineContext:
    """Barriers and responses for `num_stages` requests, read by `num_consumers` tasks."""
    return CLCPipelineContext(
        alloc_barriers(num_stages, num_consumers),
        alloc_barriers(num_stages),
        alloc_clc_responses(num_stages),
    )


def clc_producer(
    context: CLCPipelineContext, p_producer: Operand, multi_ctas: bool = True, k: Operand = 0
) -> None:
    """Request the next tile once all consumers have read the previous response.

    With `multi_ctas` the first CTA of the cluster waits for the consumers of all of them; every CTA
    expects the response in its own shared memory.
    """
    empty = context.clc_mbars_empty[k]
    full = context.clc_mbars_full[k]
    response = context.clc_responses[k]
    is_first = None
    if unwrap(multi_ctas):
        rank = emit(ClusterIdOp(), int32)
        zero = scalar_constant(0, int32)
        is_first = emit(arith.CmpiOp("eq", rank.handle, zero.handle), int1)
    barrier_wait(empty, p_producer, is_first)
    barrier_expect_bytes(full, _RESPONSE_BYTES)
    clc_issue(response, full)


def clc_consumer(
    context: CLCPipelineContext,
    p_consumer: Operand,
    multi_ctas: bool = True,
    k: Operand = 0,
    return_3d: bool = False,
) -> tensor | tuple[tensor, tensor, tensor]:
    """Wait for a response and read it: the index of a tile, or its three coordinates.

    -1 means that there are no more. Consumers of all CTAs signal the first CTA that they are done.
    """
    empty = context.clc_mbars_empty[k]
    full = context.clc_mbars_full[k]
    response = context.clc_responses[k]
    barrier_wait(full, p_consumer)
    x, y, z = clc_query(response)
    barrier_arrive(empty, 1, 0 if unwrap(multi_ctas) else None)
    return (x, y, z) if unwrap(return_3d) else x
