"""Barriers in shared memory, and barriers that count threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from tilewright.analysis.concurrency import Steps, Wait
from tilewright.analysis.thread_sync.barriers import PhaseBarrier, ThreadBarrier
from tilewright.analysis.thread_sync.clocks import ClockSnapshot
from tilewright.analysis.thread_sync.faults import (
    FaultError,
    FaultKind,
    NotAnalysedError,
    SyncFault,
)
from tilewright.analysis.thread_sync.groups import land
from tilewright.analysis.thread_sync.program import Act, Blocking, Compiler, Rule
from tilewright.analysis.thread_sync.state import BlockState, Frame
from tilewright.analysis.thread_sync.thread_accesses import CODE
from tilewright.dialects.nv.barriers import (
    BarrierOp,
    BytesOp,
    CpAsyncMBarrierArriveOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierWaitOp,
)
from tilewright.dialects.nv.machine import BarOp
from tilewright.dialects.tile.access import base_of
from tilewright.dialects.tile.allocs import AllocOp
from tilewright.dialects.tile.hints import SyncOp

# -- barriers in shared memory -----------------------------------------------------------------


def _row_of(block: BlockState, buffer: SSAValue) -> list[PhaseBarrier | None]:
    return block.barriers[base_of(buffer)]


def _name(buffer: SSAValue, index: int) -> str:
    owner = base_of(buffer).owner
    return f"{owner.buffer_name if isinstance(owner, AllocOp) else 'barrier'}[{index}]"


def barrier_at(
    frame: Frame, op: Operation, buffer: SSAValue, index: int, block: BlockState | None = None
) -> PhaseBarrier:
    """A barrier whose initialisation is ordered before this use."""
    row = _row_of(block or frame.block, buffer)
    found = row[index] if 0 <= index < len(row) else None
    if found is None:
        if frame.block.budget.is_made_up:
            raise NotAnalysedError(op, "the barrier index is a run-time value")
        text = f"{_name(buffer, index)} is used, but not initialised"
        raise FaultError(SyncFault(FaultKind.OUTSIDE, op, text))
    if block is None or block is frame.block:
        _check_known(frame, op, found)
    return found


def _check_known(frame: Frame, op: Operation, barrier: PhaseBarrier) -> None:
    warps = frame.active_warps
    if barrier.is_known[warps].all():
        return
    thread, time = barrier.maker
    warp = thread // CODE
    is_ordered = frame.clocks.observed[warps, warp] >= time
    if warp in warps and time >= frame.clocks.converged[warp]:
        codes = frame.active_codes
        is_ordered[warps == warp] = not ((codes // CODE == warp) & (codes != thread)).any()
    if not is_ordered.all():
        raise FaultError(
            SyncFault(
                FaultKind.RACE,
                op,
                f"warp {int(warps[np.argmin(is_ordered)])} uses {barrier.name}, and nothing orders "
                "it after the initialisation of the barrier",
                ((barrier.op, "initialised here"),),
            )
        )
    barrier.is_known[warps] = not (warp in warps and time >= frame.clocks.converged[warp])


def _init(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MBarrierInitOp)
    at, count, buffer = compiler.slot(op.index), op.count.value.data, op.barrier

    def act(frame: Frame) -> None:
        index = frame.uniform(op, frame.env[at], "the barrier index")
        row = _row_of(frame.block, buffer)
        if not 0 <= index < len(row):
            raise FaultError(
                SyncFault(FaultKind.OUTSIDE, op, f"{_name(buffer, index)} is out of bounds")
            )
        agent = frame.block.barrier_agent[base_of(buffer)] + index
        name = _name(buffer, index)
        made = PhaseBarrier(name, count, agent=agent, clocks=frame.clocks, op=op)
        thread = int(frame.active_codes[0])
        made.maker = thread, int(frame.clocks.observed[thread // CODE, thread // CODE])
        row[index] = made

    return act


def _arrive(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MBarrierArriveOp)
    at, buffer = compiler.slot(op.index), op.barrier
    there = None if op.cta is None else compiler.slot(op.cta)

    def act(frame: Frame) -> None:
        index = frame.uniform(op, frame.env[at], "the barrier index")
        if there is not None:
            _arrive_there(frame, op, index, frame.env[there])
            return
        barrier = barrier_at(frame, op, buffer, index)
        barrier.add_signal(frame.release())
        barrier.arrive_by(op, frame.active_count)

    return act


def _arrive_there(frame: Frame, op: MBarrierArriveOp, index: int, blocks: Any) -> None:
    """Arrivals on barriers of other blocks; only with tensor memory clocks are forwarded."""
    if blocks is None:
        raise NotAnalysedError(op, "the rank of the destination block is a run-time value")
    chosen = np.broadcast_to(blocks, (frame.count,))
    chosen = chosen if frame.mask is None else chosen[frame.mask]
    clocks, own = frame.clocks, frame.block.rank
    released: ClockSnapshot | None = None
    for rank, count in zip(*np.unique(chosen, return_counts=True), strict=True):
        if not 0 <= int(rank) < len(frame.block.cluster):
            raise NotAnalysedError(op, f"rank {int(rank)} is not in the cluster")
        block = frame.block.cluster[int(rank)]
        barrier = barrier_at(frame, op, op.barrier, index, block)
        signal: ClockSnapshot | None = None
        if block is frame.block or clocks.blocks > 1:
            released = released or frame.release()
            signal = clocks.forwarded(released, own, int(rank))
        barrier.add_signal(signal)
        barrier.arrive_by(op, int(count))


def _bytes(arrives: bool) -> Callable[[Compiler, Operation], Act]:
    def rule(compiler: Compiler, op: Operation) -> Act:
        assert isinstance(op, BytesOp)
        at, buffer, count = compiler.slot(op.index), op.barrier, op.bytes
        slot = None if isinstance(count, int) else compiler.slot(count)

        def act(frame: Frame) -> None:
            index = frame.uniform(op, frame.env[at], "the barrier index")
            barrier = barrier_at(frame, op, buffer, index)
            size = count if slot is None else frame.uniform(op, frame.env[slot], "the byte count")
            assert isinstance(size, int)
            threads = frame.active_count
            barrier.expect_by(op, size * threads)
            if arrives:
                barrier.add_signal(frame.release())
                barrier.arrive_by(op, threads)

        return act

    return rule


def _wait(compiler: Compiler, op: Operation) -> Blocking:
    assert isinstance(op, MBarrierWaitOp)
    at, which, buffer = compiler.slot(op.index), compiler.slot(op.parity), op.barrier

    def process(frame: Frame) -> Steps:
        index = frame.uniform(op, frame.env[at], "the barrier index")
        parity = frame.uniform(op, frame.env[which], "the parity") & 1
        barrier = barrier_at(frame, op, buffer, index)
        frame.flush()
        warps = frame.active_warps
        guaranteed = barrier.guaranteed_by(warps, parity)
        if barrier.phase < guaranteed:
            yield Wait(
                f"phase {guaranteed - 1} of {barrier.name}, parity {parity}",
                lambda: barrier.phase >= guaranteed,
                subject=barrier,
                site=op,
            )
        barrier.passed(op, warps, guaranteed)

    return Blocking(process)


def _copies_arrive(compiler: Compiler, op: Operation) -> Act:
    """Arrives when the copies that were issued so far complete."""
    assert isinstance(op, CpAsyncMBarrierArriveOp)
    at, buffer, noinc = compiler.slot(op.index), op.barrier, op.noinc is not None

    def act(frame: Frame) -> None:
        index = frame.uniform(op, frame.env[at], "the barrier index")
        barrier = barrier_at(frame, op, buffer, index)
        frame.flush()
        land([*frame.copies.open, *frame.copies.older(0)])
        if not noinc:
            barrier.expect_arrivals(frame.active_count)
        barrier.add_signal(frame.release())
        barrier.arrive_by(op, frame.active_count)

    return act


# -- barriers that count threads ---------------------------------------------------------------


def _named_barrier(
    frame: Frame, op: Operation, barrier_id: int, thread_count: int, *, waits: bool
) -> Steps:
    """Threads arrive on a barrier, and continue once all have arrived."""
    warps = frame.active_warps
    point = frame.block.named.setdefault(barrier_id, ThreadBarrier(f"barrier {barrier_id}"))
    target = point.arrive_by(op, frame.warp_size * len(warps), thread_count, frame.release())
    if not waits:
        return
    if not point.has_opened(target):
        yield Wait(
            f"{thread_count} threads on {point.name}",
            lambda: point.has_opened(target),
            subject=point,
            site=op,
        )
    assert point.opened is not None
    frame.clocks.acquire(warps, point.opened)
    frame.clocks.converge(warps)


def _bar(compiler: Compiler, op: Operation) -> Act | Blocking:
    assert isinstance(op, BarOp)
    barrier_id, threads = op.id.value.data, op.count.value.data
    waits = op.mode.data == "sync"
    return Blocking(lambda frame: _named_barrier(frame, op, barrier_id, threads, waits=waits))


def _block_barrier(compiler: Compiler, op: Operation) -> Blocking:
    def process(frame: Frame) -> Steps:
        threads = frame.block.arrivals
        yield from _named_barrier(frame, op, 0, threads, waits=True)

    return Blocking(process)


def _cluster_point(frame: Frame) -> ThreadBarrier:
    return frame.block.cluster[0].named.setdefault(-1, ThreadBarrier("the cluster's barrier"))


def _cluster_arrive(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        blocks = frame.block.cluster
        thread_count = sum(each.arrivals for each in blocks)
        clocks, own, released = frame.clocks, frame.block.rank, frame.release()
        for block in blocks:
            if block is frame.block or clocks.blocks > 1:
                block.cluster_signal.join(clocks.forwarded(released, own, block.rank))
        came, nothing = frame.warp_size * len(frame.active_warps), frame.clocks.nothing()
        _cluster_point(frame).arrive_by(op, came, thread_count, nothing)

    return act


def _cluster_wait(compiler: Compiler, op: Operation) -> Blocking:
    def process(frame: Frame) -> Steps:
        point = _cluster_point(frame)
        target = frame.cluster_waits = frame.cluster_waits + 1
        yield Wait(
            "all blocks of the cluster",
            lambda: point.has_opened(target),
            subject=point,
            site=op,
        )
        frame.acquire(frame.block.cluster_signal)
        frame.clocks.converge(frame.active_warps)

    return Blocking(process)


def _sync(compiler: Compiler, op: Operation) -> Act | Blocking:
    assert isinstance(op, SyncOp)
    scope = op.scope.data
    if scope == "cluster":
        arrive, wait = _cluster_arrive(compiler, op), _cluster_wait(compiler, op)

        def both(frame: Frame) -> Steps:
            arrive(frame)
            yield from wait.process(frame)

        return Blocking(both)
    if scope == "warp":
        return _sync_warps
    if op.barrier_id is not None and op.arrive_count is not None:
        barrier_id, threads = op.barrier_id.value.data, op.arrive_count.value.data
        return Blocking(lambda frame: _named_barrier(frame, op, barrier_id, threads, waits=True))
    # A wait for all blocks includes the threads of its own block.
    return _block_barrier(compiler, op)


def _sync_warps(frame: Frame) -> None:
    frame.release()
    frame.clocks.converge(frame.active_warps)


def _operands_of(op: Operation) -> list[SSAValue]:
    """The operands that a barrier op needs: all but the array of barriers."""
    assert isinstance(op, BarrierOp)
    return [each for each in op.operands if each is not op.barrier]


def _plain(make: Callable[[Compiler, Operation], Act | Blocking]) -> Rule:
    return Rule(lambda op: (), make)


RULES: Mapping[str, Rule] = {
    "nv.mbarrier.init": Rule(_operands_of, _init),
    "nv.mbarrier.arrive": Rule(_operands_of, _arrive),
    "nv.mbarrier.expect_tx": Rule(_operands_of, _bytes(arrives=False)),
    "nv.mbarrier.arrive_expect_tx": Rule(_operands_of, _bytes(arrives=True)),
    "nv.mbarrier.wait": Rule(_operands_of, _wait),
    "nv.cp_async.mbarrier_arrive": Rule(_operands_of, _copies_arrive),
    "nv.bar": _plain(_bar),
    "gpu.barrier": _plain(_block_barrier),
    "tile.sync": _plain(_sync),
    "nv.cluster.arrive": _plain(_cluster_arrive),
    "nv.cluster.wait": _plain(_cluster_wait),
}
