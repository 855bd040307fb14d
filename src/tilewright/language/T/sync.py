"""Barriers, fences, raw asynchronous copies, guarantees and output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import SSAValue

from tilewright.dialects.nv import (
    ClusterArriveOp,
    ClusterWaitOp,
    CpAsyncCommitOp,
    CpAsyncMBarrierArriveOp,
    CpAsyncOp,
    CpAsyncWaitOp,
    FenceProxyAsyncOp,
    GridTriggerOp,
    GridWaitOp,
    MBarrierArriveExpectTxOp,
    MBarrierArriveOp,
    MBarrierExpectTxOp,
    MBarrierWaitOp,
    SetMaxNRegOp,
    TmaStoreCommitOp,
    TmaStoreWaitOp,
)
from tilewright.dialects.nv.machine import BarOp
from tilewright.dialects.tile import AssertOp, AssumeOp, PrintOp, SyncOp
from tilewright.frontend.errors import FrontendError
from tilewright.ir.interfaces import constant_value
from tilewright.language.T.allocate import OTHER_HARDWARE
from tilewright.language.T.buffers import Buffer, BufferRegion, ScalarCell
from tilewright.language.T.dtypes import int32
from tilewright.language.T.expressions import (
    Expr,
    as_expr,
    as_index,
    as_type,
    condition,
    is_python_scalar,
)
from tilewright.language.T.extern import Pointer, access_ptr
from tilewright.language.T.loop_forms import BAD_ARGUMENT
from tilewright.language.T.session import effect, kernel, trace
from tilewright.language.T.tile_ops import barrier_operands


def sync_threads(barrier_id: int | None = None, arrive_count: int | None = None) -> None:
    """All threads of the block, or those of a named barrier, wait for each other."""
    kernel("T.sync_threads")
    known = {
        name: None if value is None else _compile_time(name, value)
        for name, value in (("barrier_id", barrier_id), ("arrive_count", arrive_count))
    }
    effect(SyncOp("block", **known))


def named_barrier_arrive(barrier_id: int, arrive_count: int) -> None:
    """Arrive at a named barrier without waiting; the threads that wait there count as well."""
    kernel("T.named_barrier_arrive")
    known = (_compile_time("barrier_id", barrier_id), _compile_time("arrive_count", arrive_count))
    effect(BarOp("arrive", *known))


def _compile_time(name: str, value: Any) -> int:
    """An integer of a named barrier: the instruction has it as a constant here."""
    constant = constant_value(value.handle) if isinstance(value, Expr) else None
    if isinstance(constant, IntegerAttr):
        return constant.value.data
    if is_python_scalar(value):
        return int(value)
    raise FrontendError(
        f"{name} of a named barrier must be known at compile time, got a run-time value; write a "
        "branch for each id, for example if wg == 0: T.sync_threads(1, 128) else: "
        "T.sync_threads(2, 128)",
        code=BAD_ARGUMENT,
    )


def sync_warp(mask: Any = None) -> None:
    """The lanes of a warp wait for each other."""
    del mask
    kernel("T.sync_warp")
    effect(SyncOp("warp"))


def sync_grid() -> None:
    """All blocks wait for each other; they all have to run at the same time."""
    kernel("T.sync_grid").options["cooperative"] = True
    effect(SyncOp("grid"))


def cluster_sync() -> None:
    """The blocks of a cluster wait for each other."""
    kernel("T.cluster_sync")
    effect(SyncOp("cluster"))


def cluster_arrive() -> None:
    kernel("T.cluster_arrive")
    effect(ClusterArriveOp())


def cluster_wait() -> None:
    kernel("T.cluster_wait")
    effect(ClusterWaitOp())


# -- barriers in shared memory -----------------------------------------------------------------


def mbarrier_wait_parity(mbarrier: Any, parity: Any) -> None:
    """Wait until the phase with this parity has ended."""
    kernel("T.mbarrier_wait_parity")
    slot = barrier_operands("mbarrier_wait_parity", mbarrier)
    effect(MBarrierWaitOp(*slot, as_type(parity, int32)))


def barrier_wait(mbarrier: Any, parity: Any = 0) -> None:
    """Wait until the phase with this parity has ended."""
    mbarrier_wait_parity(mbarrier, parity)


def mbarrier_arrive(mbarrier: Any, cta_id: Any = None) -> None:
    """Arrive at a barrier, of this block or of another one of the cluster."""
    kernel("T.mbarrier_arrive")
    cta = None if cta_id is None else as_type(cta_id, int32)
    effect(MBarrierArriveOp(*barrier_operands("mbarrier_arrive", mbarrier), cta))


def barrier_arrive(mbarrier: Any, cta_id: Any = None) -> None:
    """Arrive at a barrier."""
    mbarrier_arrive(mbarrier, cta_id)


def mbarrier_expect_tx(mbarrier: Any, tx: Any) -> None:
    """Expect-tx: bytes that copies will complete on the barrier."""
    kernel("T.mbarrier_expect_tx")
    effect(MBarrierExpectTxOp(*barrier_operands("mbarrier_expect_tx", mbarrier), as_index(tx)))


def mbarrier_arrive_expect_tx(mbarrier: Any, tx: Any) -> None:
    """Expect-tx, and arrive."""
    kernel("T.mbarrier_arrive_expect_tx")
    slot = barrier_operands("mbarrier_arrive_expect_tx", mbarrier)
    effect(MBarrierArriveExpectTxOp(*slot, as_index(tx)))


def cp_async_barrier_noinc(barrier: Any) -> None:
    """Arrive at a barrier when the copies this thread has started are complete."""
    kernel("T.cp_async_barrier_noinc")
    slot = barrier_operands("cp_async_barrier_noinc", barrier)
    effect(CpAsyncMBarrierArriveOp(*slot, noinc=True))


# -- raw copies and fences ---------------------------------------------------------------------


def ptx_cp_async(
    dst_access_ptr: Any, src_access_ptr: Any, num_elems: Any, predicate: Any = None
) -> None:
    """Start the copy of a few elements; places or pointers."""
    kernel("T.ptx_cp_async")
    target, source = (
        each if isinstance(each, Pointer) else access_ptr(each, mode)
        for each, mode in ((dst_access_ptr, "w"), (src_access_ptr, "r"))
    )
    if not is_python_scalar(num_elems):
        raise FrontendError(
            "T.ptx_cp_async: the number of elements must be known while tracing", code=BAD_ARGUMENT
        )
    test = None if predicate is None else condition(predicate)
    size = int(num_elems) * target.dtype.bits // 8
    effect(CpAsyncOp(target.handle, source.handle, size, test))


def ptx_commit_group() -> None:
    """Close a group of asynchronous copies."""
    kernel("T.ptx_commit_group")
    effect(CpAsyncCommitOp())


def ptx_wait_group(num: int) -> None:
    """Wait until at most `num` groups of asynchronous copies are in flight."""
    kernel("T.ptx_wait_group")
    effect(CpAsyncWaitOp(int(num)))


cp_async_commit = ptx_commit_group
cp_async_wait = ptx_wait_group


def tma_store_arrive() -> None:
    """Close a group of bulk stores."""
    kernel("T.tma_store_arrive")
    effect(TmaStoreCommitOp())


def tma_store_wait(count: int = 0, read: bool = True) -> None:
    """Wait until at most `count` groups of bulk stores are in flight."""
    kernel("T.tma_store_wait")
    effect(TmaStoreWaitOp(int(count), read=read))


def fence_proxy_async() -> None:
    """Async proxy fence: writes of threads to shared memory become visible to TMA and wgmma."""
    kernel("T.fence_proxy_async")
    effect(FenceProxyAsyncOp())


def set_max_nreg(reg_count: int, is_inc: Any) -> None:
    """Change the number of registers of the threads of a warp group."""
    kernel("T.set_max_nreg")
    if not is_python_scalar(reg_count) or not 24 <= int(reg_count) <= 240 or int(reg_count) % 8:
        raise FrontendError(
            "T.set_max_nreg: register count must be a multiple of 8 from 24 to 240, "
            f"got {reg_count}",
            code=BAD_ARGUMENT,
        )
    effect(SetMaxNRegOp(int(reg_count), increase=bool(is_inc)))


def inc_max_nreg(reg_count: int) -> None:
    set_max_nreg(reg_count, 1)


def dec_max_nreg(reg_count: int) -> None:
    set_max_nreg(reg_count, 0)


# -- guarantees and output -----------------------------------------------------------------------


def assume(cond: Any, message: str | None = None) -> None:
    """Assert that a condition holds: a GPU relies on it, a checked run on the CPU tests it."""
    if is_python_scalar(cond):
        if not cond:
            raise FrontendError(
                "T.assume: the condition is false while the kernel is traced", code=BAD_ARGUMENT
            )
        return
    if trace().is_survey:
        return
    effect(AssumeOp(condition(cond), message))


def device_assert(cond: Any, msg: str = "") -> None:
    """End the run unless a condition holds."""
    kernel("T.device_assert")
    effect(AssertOp(condition(cond), str(msg)))


def print(obj: Any = None, msg: str = "", *more: Any) -> None:
    """Print a value, or a buffer element by element, when the kernel runs."""
    kernel("T.print")
    if obj is None:
        effect(PrintOp(str(msg)))
        return
    if isinstance(obj, str):
        values: Sequence[Any] = (msg, *more) if msg != "" else more
        effect(PrintOp(obj, [_printed(value) for value in values]))
        return
    effect(PrintOp(str(msg), [_printed(obj)]))


def _printed(value: Any) -> SSAValue:
    if isinstance(value, ScalarCell):
        return value.handle
    if isinstance(value, Buffer):
        return value.handle
    if isinstance(value, BufferRegion):
        return value.operand()
    found: Expr = as_expr(value)
    return as_type(found, found.dtype)


# -- other hardware ----------------------------------------------------------------------------


def refused(name: str, hardware: str, instead: str) -> Any:
    """A function of hardware that no target has."""

    def function(*_: Any, **__: Any) -> NoReturn:
        raise FrontendError(
            f"T.{name} is for {hardware}, which no target of this compiler has: {instead}",
            code=OTHER_HARDWARE,
        )

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"For {hardware} only."
    return function


def pdl_sync() -> None:
    """Wait for the kernels launched before, which are complete then.

    A kernel with it begins, on Hopper, while the one before it ends: what precedes the call must
    not depend on other kernels.
    """
    kernel("T.pdl_sync")
    effect(GridWaitOp())


def pdl_trigger() -> None:
    """Let a kernel that calls `pdl_sync` begin, which otherwise begins when this one ends."""
    kernel("T.pdl_trigger")
    effect(GridTriggerOp())


def func_attr(attributes: Mapping[str, Any]) -> None:
    """Attributes for TVM's passes (a symbol, `noalias`): nothing reads them here."""
