"""Barriers, fences, groups and clusters."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.tt.enums import PROGRAM_DIM
from tilewright.dialects.ttg.copies import AsyncCommitGroupOp, AsyncWaitOp
from tilewright.dialects.ttng.barriers import (
    ArriveBarrierOp,
    AsyncCopyMbarrierArriveOp,
    BarrierExpectOp,
    InitBarrierOp,
    InvalBarrierOp,
    WaitBarrierOp,
)
from tilewright.dialects.ttng.cluster import (
    AsyncCLCTryCancelOp,
    CLCGetProgramIdOp,
    CLCLoadResultOp,
    CLCQueryCancelOp,
    CLCTryCancelOp,
    FenceOp,
)
from tilewright.dialects.ttng.tma import TMAStoreTokenWaitOp, TMAStoreWaitOp
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.tasks.ops.views import nothing, token
from tilewright.targets.numpy.tasks.unit import emitter_of
from tilewright.targets.numpy.values import Expr, Tensor


def predicate(emitter: Emitter, value: SSAValue | None) -> Expr:
    """A predicate; true without one."""
    return emitter.constant("np.True_", "true") if value is None else emitter.expr(value)


def call(emitter: Emitter, template: str, *operands: Expr, pauses: bool = True) -> None:
    """A call of the runtime; `{0}` is the runtime, `{place}` where it is."""
    tasks = emitter_of(emitter)
    if pauses:
        tasks.pause()
    text = template.replace("{place}", str(tasks.current_source_id()))
    emitter.effect(text, emitter.runtime, *operands)


def _init(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, InitBarrierOp)
    text = f"{{0}}.init_barrier({{1}}, {op.count.value.data}, {{place}})"
    call(emitter, text, emitter.expr(op.alloc), pauses=False)


def _inval(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, InvalBarrierOp)
    call(emitter, "{0}.inval_barrier({1}, {place})", emitter.expr(op.alloc))


def _expect(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, BarrierExpectOp)
    text = f"{{0}}.expect({{1}}, {op.size.value.data}, {{2}}, {{place}})"
    call(emitter, text, emitter.expr(op.alloc), emitter.expr(op.pred))


def _arrive(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, ArriveBarrierOp)
    if op.is_multicast:
        raise emitter.unsupported("an arrival on several CTAs is not supported on target numpy")
    each = ", each=True" if op.per_thread is not None else ""
    text = f"{{0}}.arrive({{1}}, {op.count.value.data}, {{2}}, {{place}}{each})"
    call(emitter, text, emitter.expr(op.alloc), predicate(emitter, op.pred))


def _wait(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, WaitBarrierOp)
    text = "yield from {0}.wait({1}, {2}, {3}, {place})"
    exprs = [emitter.expr(value) for value in (op.alloc, op.phase)]
    call(emitter, text, *exprs, predicate(emitter, op.pred), pauses=False)


def _named_wait(emitter: Emitter, op: Operation) -> None:
    exprs = [emitter.expr(value) for value in op.operands]
    call(emitter, "yield from {0}.named_wait({1}, {2}, {place})", *exprs)


def _named_arrive(emitter: Emitter, op: Operation) -> None:
    exprs = [emitter.expr(value) for value in op.operands]
    call(emitter, "{0}.named_arrive({1}, {2}, {place})", *exprs)


def _commit(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncCommitGroupOp)
    call(emitter, "{0}.commit({place})", pauses=False)
    token(emitter, op.token)


def _wait_copies(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncWaitOp)
    text = f"yield from {{0}}.wait_copies({op.num.value.data}, {{place}})"
    call(emitter, text, pauses=False)
    token(emitter, op.token)


def _wait_stores(emitter: Emitter, op: Operation) -> None:
    leave = op.pendings.value.data if isinstance(op, TMAStoreWaitOp) else 0
    assert isinstance(op, TMAStoreWaitOp | TMAStoreTokenWaitOp)
    call(emitter, f"yield from {{0}}.wait_stores({leave}, {{place}})", pauses=False)


def _arrive_when_copied(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncCopyMbarrierArriveOp)
    text = f"{{0}}.arrive_when_copied({{1}}, {op.no_increment is None}, {{place}})"
    call(emitter, text, emitter.expr(op.barrier))


def _fence(emitter: Emitter, op: Operation) -> None:
    kind = op.scope.data if isinstance(op, FenceOp) else _FENCES[op.name]
    call(emitter, f"{{0}}.fence({kind!r}, {{place}})", pauses=False)


_FENCES = {
    "ttng.fence_async_shared": "async_shared",
    "ttng.fence_mbarrier_init_release_cluster": "mbarrier_init",
}


def _cluster_arrive(emitter: Emitter, op: Operation) -> None:
    call(emitter, "{0}.cluster_arrive({place})")


def _cluster_wait(emitter: Emitter, op: Operation) -> None:
    call(emitter, "yield from {0}.cluster_wait({place})", pauses=False)


def _cluster_barrier(emitter: Emitter, op: Operation) -> None:
    call(emitter, "yield from {0}.cluster_sync({place})")


# Cluster launch control: the fork's ops, which are for the whole cluster, and Triton's.


def _try_cancel(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, AsyncCLCTryCancelOp)
    exprs = [emitter.expr(value) for value in (op.mbar_alloc, op.clc_res_alloc)]
    call(emitter, "{0}.try_cancel({1}, {2}, {place})", *exprs)


def _try_cancel_alone(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CLCTryCancelOp)
    exprs = [emitter.expr(value) for value in (op.mbarrier, op.result)]
    for_all = bool(op.multicast.value.data)
    call(emitter, f"{{0}}.try_cancel({{1}}, {{2}}, {{place}}, for_all={for_all})", *exprs)


def _load_response(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CLCLoadResultOp)
    tasks = emitter_of(emitter)
    tasks.pause()
    text = f"{{0}}.cancelled({{1}}, {tasks.current_source_id()})"
    response = tasks.effect_expr(text, emitter.runtime, emitter.expr(op.src), axes=0, rank=0)
    emitter.define(op.clc_result, Tensor(response))


def _is_cancelled(emitter: Emitter, op: Operation) -> None:
    expr = emitter.pure("np.bool_({0}[0] >= 0)", emitter.expr(op.operands[0]), axes=0)
    emitter.define(op.results[0], Tensor(expr))


def _cancelled_program(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CLCGetProgramIdOp)
    axis = PROGRAM_DIM.keyword(op.dim)
    text = f"{{0}}[{'xyz'.index(axis)}]"
    emitter.define(op.result, Tensor(emitter.pure(text, emitter.expr(op.clc_result), axes=0)))


def _query_cancel(emitter: Emitter, op: Operation) -> None:
    assert isinstance(op, CLCQueryCancelOp)
    tasks = emitter_of(emitter)
    tasks.pause()
    text = f"{{0}}.cancelled({{1}}, {tasks.current_source_id()})[:{len(op.results)}]"
    operands = [emitter.runtime, emitter.expr(op.clc_res_alloc)]
    exprs = emitter.several(
        f"*{text}" if len(op.results) == 1 else text,
        operands,
        [(0, 0)] * len(op.results),
        is_pure=False,
    )
    for result, expr in zip(op.results, exprs, strict=True):
        emitter.define(result, Tensor(expr))


RULES: dict[str, Rule] = {
    "ttng.init_barrier": _init,
    "ttng.inval_barrier": _inval,
    "ttng.barrier_expect": _expect,
    "ttng.arrive_barrier": _arrive,
    "ttng.wait_barrier": _wait,
    "ttng.wait_barrier_named": _named_wait,
    "ttng.arrive_barrier_named": _named_arrive,
    "ttng.async_copy_mbarrier_arrive": _arrive_when_copied,
    "ttng.async_tma_store_wait": _wait_stores,
    "ttng.async_tma_store_token_wait": _wait_stores,
    "ttng.fence": _fence,
    "ttng.fence_async_shared": _fence,
    "ttng.fence_mbarrier_init_release_cluster": _fence,
    "ttng.cluster_arrive": _cluster_arrive,
    "ttng.cluster_wait": _cluster_wait,
    "ttng.cluster_barrier": _cluster_barrier,
    "ttng.async_clc_try_cancel": _try_cancel,
    "ttng.clc_query_cancel": _query_cancel,
    "ttng.clc_try_cancel": _try_cancel_alone,
    "ttng.clc_load_result": _load_response,
    "ttng.clc_is_canceled": _is_cancelled,
    "ttng.clc_get_program_id": _cancelled_program,
    "ttg.async_commit_group": _commit,
    "ttg.async_wait": _wait_copies,
    "ttg.local_barrier": nothing,
    "ttng.tmem_wait": nothing,
}
