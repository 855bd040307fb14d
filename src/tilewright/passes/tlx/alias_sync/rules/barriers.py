"""Memory barriers, barriers of threads, fences, and waits for groups.

A barrier is identified by its bytes: all views of them are the same barrier.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import Operation

from tilewright.analysis.alias_sync.machine import Misuse
from tilewright.analysis.concurrency import (
    BarrierMisuse,
    GroupKind,
    KeyedBarrier,
    NamedBarrier,
    Steps,
)
from tilewright.analysis.ordering import TITLES, Cause, Finding, Remark
from tilewright.dialects.ttng.barriers import (
    ArriveBarrierOp,
    AsyncCopyMbarrierArriveOp,
    BarrierExpectOp,
    InitBarrierOp,
    InvalBarrierOp,
    WaitBarrierOp,
)
from tilewright.dialects.ttng.cluster import FenceOp
from tilewright.passes.tlx.alias_sync.kernel import NotAnalysed
from tilewright.passes.tlx.alias_sync.views import View
from tilewright.passes.tlx.alias_sync.walk import Rule, Walk

_NAMED = 16
"""Hardware barriers of a CTA (PTX ISA, `barrier`)."""


def barrier_of(walk: Walk, op: Operation, view: View) -> KeyedBarrier:
    found = walk.run.machine.barriers.get(view.key)
    if found is None:
        position = walk.position(op)
        fix = Remark("initialise the barrier before the tasks start", position)
        missing = f"initialisation of {view.name}"
        cause = Cause("init", missing, fix, view.owner)
        message = f"{TITLES['init']}: {walk.task.name} uses {view.name}"
        raise Misuse(Finding(message, position, cause))
    return found


def _init(walk: Walk, op: Operation) -> None:
    assert isinstance(op, InitBarrierOp)
    view = walk.view(op, op.alloc)
    try:
        made = KeyedBarrier(view.name, op.count.value.data, key=view.key, owner=view.owner)
    except BarrierMisuse as misuse:
        raise NotAnalysed(op, str(misuse)) from None
    walk.run.machine.init(walk.task, made, walk.position(op))


def _inval(walk: Walk, op: Operation) -> None:
    assert isinstance(op, InvalBarrierOp)
    walk.run.machine.barriers.pop(walk.view(op, op.alloc).key, None)


def _expect(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, BarrierExpectOp)
    yield None
    if walk.holds(op, op.pred):
        barrier = barrier_of(walk, op, walk.view(op, op.alloc))
        walk.run.machine.expect(walk.task, barrier, op.size.value.data, walk.position(op))


def _arrive(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, ArriveBarrierOp)
    if op.is_multicast:
        raise NotAnalysed(op, "a multicast arrival is not modelled")
    yield None
    if walk.holds(op, op.pred):
        barrier = barrier_of(walk, op, walk.view(op, op.alloc))
        times = op.count.value.data * (1 if op.per_thread is None else walk.task.threads)
        walk.run.machine.arrive(walk.task, barrier, times, walk.position(op))


def _wait(walk: Walk, op: Operation) -> Steps:
    assert isinstance(op, WaitBarrierOp)
    if not walk.holds(op, op.pred):
        return
    barrier = barrier_of(walk, op, walk.view(op, op.alloc))
    parity = walk.decided(op, op.phase, "the phase of a wait") & 1
    yield from walk.run.machine.wait(walk.task, barrier, parity, walk.position(op))


def _arrive_when_copied(walk: Walk, op: Operation) -> Steps:
    """Threads arrive once the copies that they issued so far are done."""
    assert isinstance(op, AsyncCopyMbarrierArriveOp)
    yield None
    barrier, task = barrier_of(walk, op, walk.view(op, op.barrier)), walk.task
    copies = walk.run.machine.groups(task, "cp.async")
    if op.no_increment is None:
        barrier.expect_arrivals(task.threads)
    walk.run.machine.issue(
        task,
        f"the arrival on {barrier.name}",
        f"cp.async of CTA {walk.rank}",
        walk.position(op),
        (),
        arrives=[(barrier, task.threads)],
        after=copies.all(),
    )


# Barriers of threads, fences.


def _named_barrier(walk: Walk, op: Operation) -> tuple[NamedBarrier, int]:
    barrier_id = walk.decided(op, op.operands[0], "the barrier id")
    threads = walk.decided(op, op.operands[1], "the thread count of a barrier")
    if not 0 <= barrier_id < _NAMED:
        raise NotAnalysed(op, f"barrier id {barrier_id} out of range: ids are 0 to {_NAMED - 1}")
    known = walk.run.machine.named_barriers
    return known.setdefault((walk.rank, barrier_id), NamedBarrier(f"barrier {barrier_id}")), threads


def _arrive_at(walk: Walk, op: Operation, named: NamedBarrier, threads: int) -> int:
    return walk.run.machine.arrive_named(walk.task, named, threads, walk.position(op))


def _named_arrive(walk: Walk, op: Operation) -> Steps:
    yield None
    _arrive_at(walk, op, *_named_barrier(walk, op))


def _named_wait(walk: Walk, op: Operation) -> Steps:
    yield None
    named, threads = _named_barrier(walk, op)
    generation = _arrive_at(walk, op, named, threads)
    yield from walk.run.machine.wait_named(walk.task, named, generation, walk.position(op))


def _cluster_named_barrier(walk: Walk) -> tuple[NamedBarrier, int]:
    named = walk.run.machine.named_barriers.setdefault(
        "cluster", NamedBarrier("the cluster barrier")
    )
    return named, walk.task.threads * walk.run.kernel.cluster_size


def _cluster_arrive(walk: Walk, op: Operation) -> Steps:
    yield None
    walk.run.cluster_generations[walk.rank] = _arrive_at(walk, op, *_cluster_named_barrier(walk))


def _cluster_wait(walk: Walk, op: Operation) -> Steps:
    named, _ = _cluster_named_barrier(walk)
    generation = walk.run.cluster_generations.get(walk.rank)
    if generation is None:
        raise NotAnalysed(op, "cluster wait without an arrival")
    yield from walk.run.machine.wait_named(walk.task, named, generation, walk.position(op))


def _cluster_barrier(walk: Walk, op: Operation) -> Steps:
    yield from _cluster_arrive(walk, op)
    yield from _cluster_wait(walk, op)


def _fence(walk: Walk, op: Operation) -> None:
    kind = op.scope.data if isinstance(op, FenceOp) else "async_shared"
    walk.run.machine.events.fence(walk.task, kind, walk.position(op))


def wait_groups(walk: Walk, op: Operation, kind: GroupKind, leave: int) -> Steps:
    yield from walk.run.machine.wait_groups(walk.task, kind, leave, walk.position(op))


RULES: Mapping[str, Rule] = {
    "ttng.init_barrier": _init,
    "ttng.inval_barrier": _inval,
    "ttng.barrier_expect": _expect,
    "ttng.arrive_barrier": _arrive,
    "ttng.wait_barrier": _wait,
    "ttng.async_copy_mbarrier_arrive": _arrive_when_copied,
    "ttng.arrive_barrier_named": _named_arrive,
    "ttng.wait_barrier_named": _named_wait,
    "ttng.cluster_arrive": _cluster_arrive,
    "ttng.cluster_wait": _cluster_wait,
    "ttng.cluster_barrier": _cluster_barrier,
    "ttng.fence": _fence,
    "ttng.fence_async_shared": _fence,
}
