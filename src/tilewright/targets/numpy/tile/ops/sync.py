"""Barriers, groups of asynchronous operations, fences, and exchange between threads of a warp."""

from __future__ import annotations

from xdsl.ir import Operation

from tilewright.dialects.nv.barriers import (
    BarrierOp,
    BytesOp,
    CpAsyncMBarrierArriveOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierWaitOp,
    WaitOp,
)
from tilewright.dialects.nv.machine import BarOp
from tilewright.dialects.simt.target import NVIDIA_WARP, warp_size_of
from tilewright.dialects.tile.base import integer_of
from tilewright.dialects.tile.hints import SyncOp
from tilewright.dialects.tile.lanes import ShuffleOp, VoteOp, WarpReduceOp
from tilewright.dialects.type_utils import bit_width
from tilewright.targets.numpy.emitter import Emitter, Rule
from tilewright.targets.numpy.tile.emitter import LANE, TileEmitter
from tilewright.targets.numpy.tile.ops.memory import tile
from tilewright.targets.numpy.values import Expr, Tensor


def _barrier(emitter: TileEmitter, op: BarrierOp) -> tuple[Expr, Expr]:
    return emitter.buffer(op.barrier), emitter.uniform(op.index, "the index of a barrier")


def _arrive(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, MBarrierArriveOp)
    # A branch on the thread leaves only some of them to arrive.
    count = ""
    operands = list(_barrier(emitter, op))
    name, end = "arrive", ""
    if op.cta is not None:
        name, end = "arrive_at", f", {{2}}, {emitter.site()}"
        operands.append(emitter.uniform(op.cta, "the rank of a block"))
    if emitter.threads is not None and emitter.divergence:
        count = f", active_threads({{{len(operands)}}})"
        operands.append(emitter.threads)
    emitter.call(f"rt.{name}({{0}}, {{1}}{end}{count})", *operands)


def _bytes(name: str) -> Rule:
    def rule(base: Emitter, op: Operation) -> None:
        emitter = tile(base)
        assert isinstance(op, BytesOp)
        size = emitter.uniform(op.bytes, "the byte count")
        emitter.call(f"rt.{name}({{0}}, {{1}}, {{2}})", *_barrier(emitter, op), size)

    return rule


def _wait(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, MBarrierWaitOp)
    parity = emitter.uniform(op.parity, "a parity")
    text = f"yield rt.wait({{0}}, {{1}}, {{2}}, {emitter.site()})"
    emitter.effect(text, *_barrier(emitter, op), parity)


def _copied(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, CpAsyncMBarrierArriveOp)
    extra = op.noinc is None
    text = f"rt.arrive_when_copied({{0}}, {{1}}, {emitter.site()}, extra={extra})"
    emitter.call(text, *_barrier(emitter, op))


def _plain(text: str) -> Rule:
    return lambda base, op: tile(base).call(text)


def _group(name: str) -> Rule:
    def rule(base: Emitter, op: Operation) -> None:
        emitter = tile(base)
        assert isinstance(op, WaitOp)
        emitter.effect(f"yield from rt.{name}({op.count}, {emitter.site()})")

    return rule


def _nothing(base: Emitter, op: Operation) -> None:
    """Matters to hardware only."""


def _bar(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, BarOp)
    barrier_id, count = op.id.value.data, op.count.value.data
    if op.mode.data == "arrive":
        emitter.call(f"rt.signal({barrier_id}, {count})")
    else:
        emitter.effect(f"yield from rt.sync({emitter.site()}, {barrier_id}, {count})")


def _init(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, MBarrierInitOp)
    text = f"rt.init_barrier({{0}}, {{1}}, {op.count.value.data})"
    emitter.call(text, *_barrier(emitter, op))


def _cluster(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    emitter.effect(f"yield from rt.sync_cluster({emitter.site()})")


def _sync(base: Emitter, op: Operation) -> None:
    """Outside of roles everything is in order already."""
    emitter = tile(base)
    assert isinstance(op, SyncOp)
    scope = op.scope.data
    if scope in ("grid", "cluster"):
        emitter.effect(f"yield from rt.sync_{scope}({emitter.site()})")
        return
    if scope == "warp" or not emitter.in_task:
        return
    barrier_id, count = integer_of(op.barrier_id), integer_of(op.arrive_count)
    options = "" if barrier_id is None else f", {barrier_id}"
    options += "" if count is None else f", {count}"
    emitter.effect(f"yield from rt.sync({emitter.site()}{options})")


# Warps.

_BALLOT_BITS = 32


def warp_argument(op: Operation) -> str:
    """The size of a warp as an argument, where it is not the usual one."""
    size = warp_size_of(op)
    return "" if size == NVIDIA_WARP else f", warp_size={size}"


def _warp(emitter: TileEmitter, op: Operation, text: str, *operands: Expr) -> None:
    if emitter.threads is None or emitter.lanes is not None:
        raise emitter.unsupported("warp-level operations are not supported inside T.Parallel")
    expr = emitter.here(text, emitter.threads, *operands, axes=LANE, rank=0)
    emitter.define(op.results[0], Tensor(expr))


def _warp_reduce(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, WarpReduceOp)
    _warp(
        emitter,
        op,
        f"warp_reduce({{0}}, {{1}}, {op.kind.data!r})",
        emitter.expr(op.value),
    )


def _shuffle(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, ShuffleOp)
    warp_size = warp_size_of(op)
    width = op.lanes(warp_size)
    if width > warp_size:
        raise emitter.unsupported(f"a shuffle of {width} lanes: a warp has {warp_size}")
    text = f"shuffle({{0}}, {{1}}, {{2}}, {op.mode.data!r}, {width}{warp_argument(op)})"
    _warp(emitter, op, text, emitter.expr(op.value), emitter.expr(op.offset))


def _vote(base: Emitter, op: Operation) -> None:
    emitter = tile(base)
    assert isinstance(op, VoteOp)
    bits = bit_width(op.result.type)
    width = f", bits={bits}" if bits > _BALLOT_BITS else ""
    lanes = warp_argument(op) if op.width is None else ""
    text = f"vote({{0}}, {{1}}, {op.mode.data!r}{width}{lanes})"
    _warp(emitter, op, text, emitter.expr(op.predicate))


RULES: dict[str, Rule] = {
    "nv.mbarrier.init": _init,
    "nv.mbarrier.arrive": _arrive,
    "nv.mbarrier.expect_tx": _bytes("expect_tx"),
    "nv.mbarrier.arrive_expect_tx": _bytes("arrive_expect_tx"),
    "nv.mbarrier.wait": _wait,
    "nv.cp_async.mbarrier_arrive": _copied,
    "nv.cp_async.commit": _plain("rt.commit()"),
    "nv.cp_async.wait": _group("wait_group"),
    "nv.tma_store.commit": _plain("rt.commit_stores()"),
    "nv.tma_store.wait": _group("wait_stores"),
    "nv.wgmma.commit": _nothing,
    "nv.wgmma.wait": _group("wait_products"),
    "nv.fence_proxy_async": _nothing,
    "nv.fence_barrier_init": _nothing,
    "nv.setmaxnreg": _nothing,
    "nv.cluster.arrive": _nothing,
    "nv.grid.trigger": _nothing,  # kernels run sequentially
    "nv.grid.wait": _nothing,
    "nv.cluster.wait": _cluster,
    "nv.bar": _bar,
    "tile.sync": _sync,
    "tile.warp_reduce": _warp_reduce,
    "tile.shuffle": _shuffle,
    "tile.vote": _vote,
}
