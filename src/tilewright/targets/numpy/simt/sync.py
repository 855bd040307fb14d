"""Barriers of all kinds, groups of copies and MMAs, and fences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override
from xdsl.ir import Operation

from tilewright.dialects.gpu import AddressSpace, AddressSpaceAttr, BarrierOp
from tilewright.dialects.nv.barriers import (
    BytesOp,
    CpAsyncMBarrierArriveOp,
    MBarrierArriveOp,
    MBarrierInitOp,
    MBarrierWaitOp,
    WaitOp,
)
from tilewright.dialects.nv.machine import BarOp
from tilewright.dialects.tile.hints import SyncOp
from tilewright.targets.numpy.simt.buffers import BarrierBuffer
from tilewright.targets.numpy.simt.clocks import ClockSnapshot
from tilewright.targets.numpy.simt.machine import (
    BarrierMisuse,
    Groups,
    Mbarrier,
    Pending,
    ThreadBarrier,
    Wait,
)
from tilewright.targets.numpy.simt.program import (
    Act,
    Blocking,
    Compiler,
    Rule,
    Steps,
    unsupported,
)
from tilewright.targets.numpy.simt.state import BlockRun, Frame

_BARRIER_BYTES = 8


@dataclass(eq=False)
class PhaseBarrier(Mbarrier):
    """A barrier in shared memory that forwards the clocks of arriving threads to waiting ones."""

    pending: Any = None
    """The clocks released in the current phase."""
    passed: Any = None
    """The clocks that waiting threads acquire."""
    is_fenced: bool = False
    """Whether the initialisation is visible to the async proxy."""

    @override
    def completed(self) -> None:
        self.passed.join(self.pending)

    def signal(self, signal: ClockSnapshot) -> None:
        self.pending.join(signal)


@dataclass(eq=False)
class CheckedNamedBarrier(ThreadBarrier):
    """A barrier that counts threads and joins what they know."""

    pending: Any = None
    passed: Any = None
    tensors_pending: Any = None
    """The same for accesses to tensors, where some barriers do not order those."""
    tensors_passed: Any = None


def barrier_at(frame: Frame, buffer: BarrierBuffer, index: int) -> PhaseBarrier:
    """A barrier that has been set up."""
    if not 0 <= index < buffer.size:
        raise frame.problem(
            "out of bounds",
            f"barrier index out of bounds: {buffer.name}[{index}], "
            f"but '{buffer.name}' has {buffer.size} barriers",
        )
    found = buffer.barriers[index]
    if found is None:
        raise frame.problem("barrier", f"barrier {buffer.name}[{index}] has not been initialised")
    return found


def set_up(frame: Frame, buffer: BarrierBuffer, index: int, count: int) -> PhaseBarrier:
    clocks = frame.block.clocks
    made = PhaseBarrier(
        f"{buffer.name}[{index}]", count, pending=clocks.nothing(), passed=clocks.nothing()
    )
    buffer.barriers[index] = made
    return made


def set_up_all(frame: Frame, buffer: BarrierBuffer, counts: Sequence[int]) -> None:
    """Barriers that are there from the start."""
    for index, count in enumerate(counts):
        set_up(frame, buffer, index, count).is_fenced = True


def _check_initialised(
    frame: Frame, buffer: BarrierBuffer, index: int, *, writes: bool = False
) -> None:
    """The initialisation of a barrier must happen before its use."""
    if not frame.block.options.checked or frame.op is None:
        return
    shadow, tids = frame.block.shadow, frame.active_tids
    start = np.full(len(tids), buffer.base + index * _BARRIER_BYTES)
    access = shadow.access(start, _BARRIER_BYTES, tids)
    if writes:
        shadow.write_by_threads(frame.op, access)
    elif shadow.writer[access.granules[0]] >= 0:
        shadow.read_by_threads(frame.op, access)


# -- barriers in shared memory -----------------------------------------------------------------


def _init(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MBarrierInitOp)
    where, at = compiler.slot(op.barrier), compiler.slot(op.index)
    count = op.count.value.data

    def act(frame: Frame) -> None:
        buffer, index = frame.env[where], frame.uniform(frame.env[at], "the barrier")
        frame.leader("nv.mbarrier.init")
        _check_initialised(frame, buffer, index, writes=True)
        set_up(frame, buffer, index, count)

    return act


def _arrive(compiler: Compiler, op: Operation) -> Act:
    assert isinstance(op, MBarrierArriveOp)
    where, at = compiler.slot(op.barrier), compiler.slot(op.index)
    block = None if op.cta is None else compiler.slot(op.cta)

    def act(frame: Frame) -> None:
        buffer, index = frame.env[where], frame.uniform(frame.env[at], "the barrier")
        if block is not None:
            _arrive_there(frame, buffer, index, frame.env[block])
            return
        barrier = barrier_at(frame, buffer, index)
        _check_initialised(frame, buffer, index)
        barrier.signal(frame.block.clocks.release(frame.active_warps))
        _use(frame, lambda: barrier.arrive(len(frame.active_tids)))

    return act


def _arrive_there(frame: Frame, buffer: BarrierBuffer, index: int, blocks: Any) -> None:
    """Arrivals at barriers of other CTAs; only with tensor memory clocks are forwarded."""
    released: ClockSnapshot | None = None
    chosen, counts = np.unique(frame.wide(blocks)[frame.active], return_counts=True)
    for rank, count in zip(chosen, counts, strict=True):
        barrier = barrier_of_block(frame, buffer, index, int(rank))
        clocks, own = frame.block.clocks, frame.block.rank
        if int(rank) == own or clocks.blocks > 1:
            released = released or clocks.release(frame.active_warps)
            barrier.signal(clocks.forwarded(released, own, int(rank)))
        _use(frame, lambda barrier=barrier, count=count: barrier.arrive(int(count)))


def barrier_of_block(frame: Frame, buffer: BarrierBuffer, index: int, rank: int) -> PhaseBarrier:
    """The same barrier of another block of the cluster."""
    if not 0 <= rank < len(frame.block.cluster):
        raise frame.problem(
            "barrier",
            f"CTA rank {rank} is out of range: the cluster has {len(frame.block.cluster)} CTAs",
        )
    there = frame.block.cluster[rank].barriers.get(buffer.key)
    if there is None:
        raise frame.problem("barrier", f"{buffer.name} of CTA {rank} has not been initialised")
    return barrier_at(frame, there, index)


def _use(frame: Frame, action: Any) -> None:
    try:
        action()
    except BarrierMisuse as error:
        raise frame.problem("barrier", str(error)) from error


def _bytes(arrives: bool) -> Rule:
    def rule(compiler: Compiler, op: Operation) -> Act:
        assert isinstance(op, BytesOp)
        where, at = compiler.slot(op.barrier), compiler.slot(op.index)
        count = op.bytes
        slot = None if isinstance(count, int) else compiler.slot(count)

        def act(frame: Frame) -> None:
            buffer, index = frame.env[where], frame.uniform(frame.env[at], "the barrier")
            barrier = barrier_at(frame, buffer, index)
            _check_initialised(frame, buffer, index)
            size = count if slot is None else frame.uniform(frame.env[slot], "the bytes")
            assert isinstance(size, int)
            threads = len(frame.active_tids)
            if not arrives:
                _use(frame, lambda: barrier.expect_tx(size * threads))
                return
            barrier.signal(frame.block.clocks.release(frame.active_warps))
            for _ in range(threads):
                _use(frame, lambda: barrier.arrive_expect_tx(size))

        return act

    return rule


def _wait(compiler: Compiler, op: Operation) -> Blocking:
    assert isinstance(op, MBarrierWaitOp)
    where, at = compiler.slot(op.barrier), compiler.slot(op.index)
    which = compiler.slot(op.parity)

    def process(frame: Frame) -> Steps:
        buffer, index = frame.env[where], frame.uniform(frame.env[at], "the barrier")
        barrier = barrier_at(frame, buffer, index)
        _check_initialised(frame, buffer, index)
        parity = frame.uniform(frame.env[which], "the parity") & 1
        yield Wait(
            f"{barrier.name} to complete a phase of parity {parity}",
            lambda: barrier.has_passed(parity),
            barrier.missing,
            barrier,
            op,
        )
        frame.op = op
        frame.block.clocks.acquire(frame.active_warps, barrier.passed)

    return Blocking(process)


def _copies_arrive(compiler: Compiler, op: Operation) -> Act:
    """Arrives when the copies that were started so far are done."""
    assert isinstance(op, CpAsyncMBarrierArriveOp)
    where, at = compiler.slot(op.barrier), compiler.slot(op.index)
    noinc = op.noinc is not None

    def act(frame: Frame) -> None:
        buffer, index = frame.env[where], frame.uniform(frame.env[at], "the barrier")
        barrier = barrier_at(frame, buffer, index)
        _check_initialised(frame, buffer, index)
        threads, warps = len(frame.active_tids), frame.active_warps
        earlier = [*frame.copies.open, *frame.copies.older(0)]
        if not noinc:
            barrier.expect_arrivals(threads)

        def finish() -> None:
            for each in earlier:
                each.complete()
                _land(each)
            barrier.signal(frame.block.clocks.release(warps))
            _use(frame, lambda: barrier.arrive(threads))

        operation = Pending("an arrival after cp.async", finish, op, frame.name)
        frame.block.machine.issue("cp.async arrivals", operation, in_order=True)

    return act


# -- barriers that count threads ---------------------------------------------------------------


def sync_threads(
    frame: Frame, barrier_id: int, threads: int, *, waits: bool, orders_tensors: bool = True
) -> Steps:
    """Threads come to a barrier, and go on once all are there."""
    block, op = frame.block, frame.op
    tensors = block.tensor_clocks
    orders_tensors = orders_tensors and block.has_narrow_barriers
    warps = frame.whole_warps("a barrier")
    point = block.named.get(barrier_id)
    if point is None:
        clocks = block.clocks
        point = CheckedNamedBarrier(
            f"barrier {barrier_id}",
            pending=clocks.nothing(),
            passed=clocks.nothing(),
            tensors_pending=tensors.nothing(),
            tensors_passed=tensors.nothing(),
        )
        block.named[barrier_id] = point
    point.pending.join(block.clocks.release(warps))
    if orders_tensors:
        point.tensors_pending.join(tensors.release(warps))
    before = point.openings
    target = 0

    def come() -> None:
        nonlocal target
        target = point.arrive(frame.warp_size * len(warps), threads)

    _use(frame, come)
    if point.openings != before:
        point.passed, point.pending = point.pending, block.clocks.nothing()
        point.tensors_passed, point.tensors_pending = point.tensors_pending, tensors.nothing()
    if not waits:
        return
    yield Wait(
        f"{threads} threads at barrier {barrier_id}",
        lambda: point.has_opened(target),
        point.missing,
        point,
        op,
    )
    frame.op = op
    block.clocks.acquire(warps, point.passed)
    block.clocks.converge(warps)
    if orders_tensors:
        tensors.acquire(warps, point.tensors_passed)
        tensors.converge(warps)


def _bar(compiler: Compiler, op: Operation) -> Blocking:
    assert isinstance(op, BarOp)
    barrier_id, threads = op.id.value.data, op.count.value.data
    waits = op.mode.data == "sync"
    return Blocking(lambda frame: sync_threads(frame, barrier_id, threads, waits=waits))


def block_arrivals(block: BlockRun) -> int:
    """The arrivals of a whole block at a barrier, which counts lanes of warps."""
    return -(-block.threads // block.warp_size) * block.warp_size


def is_narrow(op: BarrierOp) -> bool:
    """Whether a barrier leaves accesses to tensors unordered."""
    spaces = op.address_spaces
    return spaces is not None and not any(
        isinstance(each, AddressSpaceAttr) and each.data is AddressSpace.GLOBAL for each in spaces
    )


def _block_barrier(compiler: Compiler, op: Operation) -> Blocking:
    orders_tensors = not isinstance(op, BarrierOp) or not is_narrow(op)

    def process(frame: Frame) -> Steps:
        threads = block_arrivals(frame.block)
        yield from sync_threads(frame, 0, threads, waits=True, orders_tensors=orders_tensors)

    return Blocking(process)


def _cluster_arrive(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        blocks = frame.block.cluster
        threads = sum(map(block_arrivals, blocks))
        warps = frame.whole_warps("a barrier of the cluster")
        point = _cluster_point(frame)
        clocks, rank = frame.block.clocks, frame.block.rank
        released = clocks.release(warps)
        for block in blocks:
            if block is frame.block or clocks.blocks > 1:
                block.cluster_clocks.join(clocks.forwarded(released, rank, block.rank))
        _use(frame, lambda: point.arrive(frame.warp_size * len(warps), threads))

    return act


def _cluster_point(frame: Frame) -> CheckedNamedBarrier:
    named = frame.block.cluster[0].named
    return named.setdefault(-1, CheckedNamedBarrier("the cluster's barrier"))


def _cluster_wait(compiler: Compiler, op: Operation) -> Blocking:
    def process(frame: Frame) -> Steps:
        point = _cluster_point(frame)
        target = frame.cluster_waits = frame.cluster_waits + 1
        yield Wait(
            "all blocks of the cluster",
            lambda: point.has_opened(target),
            point.missing,
            point,
            op,
        )
        frame.op = op
        warps = frame.whole_warps("a barrier of the cluster")
        frame.block.clocks.acquire(warps, frame.block.cluster_clocks)
        frame.block.clocks.converge(warps)

    return Blocking(process)


def _sync(compiler: Compiler, op: Operation) -> Blocking:
    assert isinstance(op, SyncOp)
    scope = op.scope.data
    if scope == "cluster":
        arrive, wait = _cluster_arrive(compiler, op), _cluster_wait(compiler, op)

        def both(frame: Frame) -> Steps:
            arrive(frame)
            yield from wait.process(frame)

        return Blocking(both)
    if scope == "warp":
        return Blocking(_sync_warps)
    if scope == "grid":
        raise unsupported(
            op, "grid barriers are not supported: the NumPy target runs blocks sequentially"
        )
    if op.barrier_id is not None and op.arrive_count is not None:
        barrier_id, threads = op.barrier_id.value.data, op.arrive_count.value.data
        return Blocking(lambda frame: sync_threads(frame, barrier_id, threads, waits=True))
    return _block_barrier(compiler, op)


def _sync_warps(frame: Frame) -> Steps:
    warps = frame.whole_warps("__syncwarp")
    for clocks in dict.fromkeys((frame.block.clocks, frame.block.tensor_clocks)):
        clocks.release(warps)
        clocks.converge(warps)
    yield None


# -- groups ------------------------------------------------------------------------------------


def _land(operation: Any) -> None:
    if isinstance(operation, Pending) and operation.landed is not None:
        operation.landed()


def drain(frame: Frame, groups: Groups, leave: int, what: str) -> Steps:
    """Wait until at most `leave` groups are in flight."""
    op = frame.op
    yield Wait(
        f"all but {leave} groups of {what}",
        lambda: groups.is_done(leave),
        lambda: "",
        groups,
        op,
    )
    frame.op = op
    for each in groups.forget(leave):
        _land(each)


def _commit(attribute: str) -> Rule:
    def rule(compiler: Compiler, op: Operation) -> Act:
        return lambda frame: getattr(frame, attribute).commit()

    return rule


def _group_wait(attribute: str, what: str) -> Rule:
    def rule(compiler: Compiler, op: Operation) -> Blocking:
        assert isinstance(op, WaitOp)
        leave = op.count
        return Blocking(lambda frame: drain(frame, getattr(frame, attribute), leave, what))

    return rule


def _store_commit(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        for thread in frame.active_tids:
            groups = frame.stores.get(int(thread))
            if groups is not None:
                groups.commit()

    return act


def _store_wait(compiler: Compiler, op: Operation) -> Blocking:
    assert isinstance(op, WaitOp)
    leave = op.count

    def process(frame: Frame) -> Steps:
        active = {int(thread) for thread in frame.active_tids}
        for thread, groups in list(frame.stores.items()):
            if thread in active:
                yield from drain(frame, groups, leave, "bulk stores")

    return Blocking(process)


# -- fences ------------------------------------------------------------------------------------


def _fence_async(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        frame.block.clocks.fence(frame.active_warps)

    return act


def _fence_init(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        for held in frame.env:
            if isinstance(held, BarrierBuffer):
                for barrier in held.barriers:
                    if barrier is not None:
                        barrier.is_fenced = True

    return act


def _wgmma_fence(compiler: Compiler, op: Operation) -> Act:
    def act(frame: Frame) -> None:
        frame.whole_groups("nv.wgmma.fence")
        frame.fence_time = frame.tick()

    return act


RULES: Mapping[str, Rule] = {
    "nv.mbarrier.init": _init,
    "nv.mbarrier.arrive": _arrive,
    "nv.mbarrier.expect_tx": _bytes(arrives=False),
    "nv.mbarrier.arrive_expect_tx": _bytes(arrives=True),
    "nv.mbarrier.wait": _wait,
    "nv.cp_async.mbarrier_arrive": _copies_arrive,
    "nv.bar": _bar,
    "gpu.barrier": _block_barrier,
    "tile.sync": _sync,
    "nv.cluster.arrive": _cluster_arrive,
    "nv.cluster.wait": _cluster_wait,
    "nv.cp_async.commit": _commit("copies"),
    "nv.cp_async.wait": _group_wait("copies", "cp.async"),
    "nv.wgmma.commit": _commit("mmas"),
    "nv.wgmma.wait": _group_wait("mmas", "wgmma"),
    "nv.tma_store.commit": _store_commit,
    "nv.tma_store.wait": _store_wait,
    "nv.fence_proxy_async": _fence_async,
    "nv.fence_barrier_init": _fence_init,
    "nv.wgmma.fence": _wgmma_fence,
}
