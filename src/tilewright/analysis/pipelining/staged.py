"""Schedules for loops whose copies go through registers.

An iteration loads tiles into registers, writes them to shared memory, and computes with them. In
step ``t`` of the schedule::

    loads of iteration t            stage 0, first
    everything else of t - 1        stage 1
    stores of iteration t           stage 0, last

so the loads are in flight while the previous iteration computes, and no thread waits for them
before it stores. With two versions of a shared buffer the stores fill the one that no thread reads,
and one barrier an iteration is enough, after the stores. With one version they have to wait for
the last reader, and there are two barriers.

Copies that go to shared memory directly, without registers, are started first of all::

    direct copies of iteration t    stage 0, first
    everything else of t - ahead    stage `ahead`

With two versions they fill the one that was read in the step before, after a barrier; a second
one follows the wait for those of the step before. With three versions and ``ahead = 2`` the wait
comes first, and one barrier serves both.
"""

from __future__ import annotations

from collections.abc import Collection

from tilewright.analysis.pipelining.automatic import NOT_PIPELINED
from tilewright.analysis.pipelining.dependences import Dependences
from tilewright.analysis.pipelining.plan import PipelinePlan, Refusal, check_plan, versions_of


def plan_staged(
    dependences: Dependences,
    stores: Collection[int],
    *,
    versions: int,
    direct: Collection[int] = (),
    ahead: int = 1,
) -> PipelinePlan | Refusal:
    """The plan of a loop with the given stores of staged tiles, or why it stays serial.

    `direct` copies do not go through registers; all of them have `versions`, too.
    """
    left = sorted({*stores, *direct})
    problem: Refusal | None = None
    for store in list(left):
        reason = _not_renamable(dependences, store)
        if reason is not None:
            problem = problem or reason
            left.remove(store)
    while left:
        stage, order = _schedule(dependences, left, direct, ahead)
        problem = check_plan(dependences, stage, order)
        if problem is None:
            counts = versions_of(dependences, stage, order)
            if versions > 1:
                for store in left:
                    for region in dependences.writes[store]:
                        counts[region.base] = max(counts.get(region.base, 1), versions)
            serial = (False,) * len(dependences.ops)
            return PipelinePlan(dependences.ops, stage, order, serial, counts)
        left.pop(_culprit(dependences, left, problem))
    return problem or Refusal(NOT_PIPELINED, "the loop has no copy that goes through registers")


def _not_renamable(dependences: Dependences, store: int) -> Refusal | None:
    for region in dependences.writes[store]:
        if dependences.renamable.get(region.base) != store:
            reason = dependences.why_not_renamable(region.base)
            return Refusal(NOT_PIPELINED, reason, (dependences.ops[store],))
    return None


def _schedule(
    dependences: Dependences, filling: Collection[int], direct: Collection[int], ahead: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Stages, and positions in a step."""
    count = len(dependences.ops)
    early = {*filling}
    for statement in reversed(range(count)):
        if any(dependences.feeds(statement, user) for user in early if user > statement):
            early.add(statement)
    started = [statement for statement in sorted(filling) if statement in direct]
    stores = [statement for statement in sorted(filling) if statement not in direct]
    loads = [statement for statement in range(count) if statement in early - {*filling}]
    rest = [statement for statement in range(count) if statement not in early]
    sequence = [*started, *loads, *rest, *stores]
    stage = tuple(0 if statement in early else ahead for statement in range(count))
    return stage, tuple(sequence.index(statement) for statement in range(count))


def _culprit(dependences: Dependences, stores: list[int], problem: Refusal) -> int:
    """The index of the store that a broken dependence is about, or of the last one."""
    for op in problem.ops:
        position = dependences.positions.get(op)
        if position is None:
            continue
        for index, store in enumerate(stores):
            if store == position or dependences.feeds(position, store):
                return index
    return len(stores) - 1
