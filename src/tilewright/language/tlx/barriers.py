"""Barriers: synchronisation of tasks and asynchronous units.

An mbarrier is a 64-bit object in shared memory that counts arrivals and expected bytes. When both
are complete its phase flips, and waiting for the phase of a parity returns::

    full = tlx.alloc_barriers(2)                 one arrival completes a phase
    tlx.barrier_expect_bytes(full[0], 8192)      arrive, and expect so many bytes
    tlx.async_descriptor_load(..., full[0])      the bytes come
    tlx.barrier_wait(full[0], phase)             returns when the phase of that parity is complete

A fresh barrier is in phase 0, so waiting for parity 1 returns at once: that is how a producer
starts. Named barriers are the sixteen that the hardware has; their count includes waiters.
"""

from __future__ import annotations

from tilewright.dialects import rocdl
from tilewright.dialects.amdg import (
    ClusterBarrierArriveOp,
    ClusterBarrierWaitOp,
    CondBarrierOp,
)
from tilewright.dialects.ttg import BarrierOp, LocalAllocOp, MemDescIndexOp
from tilewright.dialects.ttg.program import ADDRESS_SPACES
from tilewright.dialects.ttng import (
    ArriveBarrierOp,
    BarrierExpectOp,
    ClusterArriveOp,
    ClusterWaitOp,
    FenceMBarrierInitReleaseClusterOp,
    InitBarrierOp,
    NamedBarrierArriveOp,
    NamedBarrierWaitOp,
    WaitBarrierOp,
)
from tilewright.frontend.builder import current
from tilewright.language.tl.constants import scalar_constant
from tilewright.language.tl.constexpr import constexpr, unwrap
from tilewright.language.tl.conversion import convert
from tilewright.language.tl.dtypes import int1, int32
from tilewright.language.tl.operands import indices
from tilewright.language.tl.options import current_options
from tilewright.language.tl.tensor import Operand, tensor
from tilewright.language.tlx.layouts import swizzled_shared_layout_encoding
from tilewright.language.tlx.storage import mbarrier, mbarrier_type, storage_kind
from tilewright.language.tlx.views import remote_view

_WARP = 32
_SCHEDULING_BITS = 0xFFF


def predicate(pred: Operand | None) -> tensor:
    """`pred` as one bit, true where none is given."""
    given = unwrap(pred)
    if given is None:
        return scalar_constant(True, int1)
    return given if isinstance(given, tensor) else scalar_constant(bool(given), int1)


def known_integer(value: object, name: str) -> int:
    """An argument that must be known when the kernel is compiled."""
    integer = unwrap(value)
    if not isinstance(integer, int) or isinstance(integer, bool):
        raise ValueError(f"{name} must be a constexpr integer, got {integer}")
    return integer


def alloc_barriers(num_barriers: int | constexpr, arrive_count: int | constexpr = 1) -> mbarrier:
    """Allocate barriers whose phases take `arrive_count` arrivals each."""
    return _allocated(num_barriers, known_integer(arrive_count, "arrive_count"), per_thread=False)


def alloc_warp_barrier(
    num_barriers: int | constexpr,
    num_warps: int | constexpr = 1,
    num_arrivals: int | constexpr = 1,
) -> mbarrier:
    """Allocate barriers at which every thread of `num_warps` warps arrives, `num_arrivals` times.

    An arrival then needs no synchronisation of the warp before it.
    """
    count = known_integer(num_warps, "num_warps") * known_integer(num_arrivals, "num_arrivals")
    return _allocated(num_barriers, count * _WARP, per_thread=True)


def _allocated(num_barriers: object, arrivals: int, *, per_thread: bool) -> mbarrier:
    count = known_integer(num_barriers, "num_barriers")
    layout = swizzled_shared_layout_encoding.make_default(1)
    array = current().insert(LocalAllocOp(mbarrier_type(count, layout).to_ir())).result
    one = mbarrier_type(0, layout).to_ir()
    for index in range(count):
        position = scalar_constant(index, int32).handle
        barrier = current().insert(MemDescIndexOp(array, position, one)).result
        current().insert(InitBarrierOp(barrier, arrivals))
    return mbarrier(array, count, layout, is_warp_barrier=per_thread)


def barrier_expect_bytes(bar: mbarrier, size: int | constexpr, pred: Operand | None = None) -> None:
    """Arrive at `bar`, and let its phase wait for `size` bytes of copies."""
    allowed = predicate(pred).handle
    current().insert(BarrierExpectOp(bar.handle, known_integer(size, "size"), allowed))


def barrier_wait(bar: mbarrier, phase: Operand, pred: Operand | None = None) -> None:
    """Wait until the phase of parity `phase` is complete."""
    if bar.type.storage != storage_kind.smem:
        raise AssertionError(
            "barrier_wait does not support remote_view of mbarrier. Use local mbarrier only "
            "(storage must be smem, not smemCluster)."
        )
    allowed = predicate(pred).handle
    parity = unwrap(phase)
    if isinstance(parity, tensor) and parity.dtype == int1:
        parity = convert(parity, int32)
    current().insert(WaitBarrierOp(bar.handle, indices((parity,))[0].handle, allowed))


def barrier_arrive(
    bar: mbarrier,
    arrive_count: int | constexpr = 1,
    remote_cta_rank: Operand | None = None,
    pred: Operand | None = None,
) -> None:
    """Arrive on `bar`, or on the barrier at its offset in another CTA of the cluster."""
    if bar.type.storage != storage_kind.smem:
        raise AssertionError(
            "barrier_arrive does not allow users to pass a remote_view of mbarrier. Remote view is "
            "done inside barrier_arrive"
        )
    count = known_integer(arrive_count, "arrive_count")
    if count != 1 and not current_options().target.is_cuda:
        raise AssertionError("AMD backend currently only supports arrive_count == 1")
    target = bar if remote_cta_rank is None else remote_view(bar, remote_cta_rank)
    allowed = None if unwrap(pred) is None else predicate(pred).handle
    current().insert(ArriveBarrierOp(target.handle, count, allowed, per_thread=bar.is_warp_barrier))


def named_barrier_wait(bar: Operand, arrive_count: Operand) -> None:
    """Arrive at hardware barrier `bar` and wait until `arrive_count` threads have."""
    barrier_id, threads = indices((bar, arrive_count))
    current().insert(NamedBarrierWaitOp(barrier_id.handle, threads.handle))


def named_barrier_arrive(bar: Operand, arrive_count: Operand) -> None:
    """Arrive at hardware barrier `bar` without waiting; `arrive_count` counts waiters as well."""
    barrier_id, threads = indices((bar, arrive_count))
    current().insert(NamedBarrierArriveOp(barrier_id.handle, threads.handle))


def cluster_barrier() -> None:
    """Wait until all threads of all CTAs of the cluster are here."""
    if not current_options().target.is_cuda:
        workgroup_barrier()
        current().insert(ClusterBarrierArriveOp())
        current().insert(ClusterBarrierWaitOp())
        return
    current().insert(ClusterArriveOp())
    current().insert(ClusterWaitOp())


def fence_mbarrier_init_cluster() -> None:
    """Let the other CTAs of the cluster see barriers that were allocated before."""
    current().insert(FenceMBarrierInitReleaseClusterOp())


def cond_barrier(pred: tensor) -> None:
    """Wait for the threads of the workgroup for which `pred` is true (AMD)."""
    current().insert(CondBarrierOp(operands=[pred.handle]))


def workgroup_barrier() -> None:
    """Wait for all threads of the workgroup, with a fence for shared memory (AMD)."""
    current().insert(rocdl.SchedBarrierOp(0))
    current().insert(BarrierOp(ADDRESS_SPACES["local"]))
    current().insert(rocdl.SchedBarrierOp(0))


def amd_sched_barrier(mask: int | constexpr = 0) -> None:
    """Keep the AMD scheduler from moving instructions across; `mask` lets classes of them pass."""
    if current_options().target.is_cuda:
        raise NotImplementedError("tlx.amd_sched_barrier is only supported on AMD (HIP) backends")
    bits = unwrap(mask)
    if not isinstance(bits, int):
        raise AssertionError(f"mask must be a constexpr integer, got {type(bits).__name__}")
    if not 0 <= bits <= _SCHEDULING_BITS:
        raise AssertionError(f"mask must use only AMD scheduling-class bits 0..11, got {bits:#x}")
    current().insert(rocdl.SchedBarrierOp(bits))
