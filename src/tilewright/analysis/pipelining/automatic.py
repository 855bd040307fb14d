"""Schedules for ``T.Pipelined(..., num_stages=n)``: copies run ahead, everything else follows.

* A *copy* reads global memory and writes shared memory, into a buffer of which each iteration can
  have its own version. It goes to stage 0, and so do the statements it depends on.
* All other statements go to stage ``n``, in their order. A copy is placed after the last user of
  its buffer, so ``n`` versions are enough.
* If that puts all copies last and ``n > 1``, they go first instead and the others to stage
  ``n - 1``: as many versions, and the copies are issued earlier.
* If all other statements are GEMMs that go on while the threads do, and ``n > 2``, the copies stay
  last, and the GEMMs go to stage ``n - 1``. Their buffers get a version more than that needs, which
  a GEMM of the step before may still read: copies are issued while GEMMs run.

A copy that cannot run ahead stays where it is, with the reason; if none can, the loop stays serial.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from xdsl.ir import Operation

from tilewright.analysis.pipelining.dependences import Dependences
from tilewright.analysis.pipelining.moves_ahead import asynchronous_part
from tilewright.analysis.pipelining.plan import PipelinePlan, Refusal, check_plan, versions_of
from tilewright.dialects.tile import Space

NOT_PIPELINED = "TW4045"


MIN_OVERLAPPING = 3
"""Versions with which a copy is in flight beside that for the next GEMM, and none waits for one."""


def plan_automatically(
    dependences: Dependences,
    num_stages: int,
    *,
    has_async_copies: bool = True,
    going_on: Set[Operation] = frozenset(),
) -> PipelinePlan | Refusal:
    """The plan for a depth, or why the loop stays serial; `going_on` are GEMMs that need no wait
    before the next iteration's."""
    ahead = {
        statement for statement in range(len(dependences.ops)) if _is_copy(dependences, statement)
    }
    reasons: list[Refusal] = []
    for statement in sorted(ahead):
        reason = _refusal_of(dependences, statement)
        if reason is not None:
            reasons.append(reason)
            ahead.discard(statement)
    if _overlaps(dependences, ahead, num_stages, going_on) and has_async_copies:
        found = _overlapping(dependences, ahead, num_stages, tuple(reasons))
        if found is not None:
            return found
    while ahead:
        stage, order = _schedule(dependences, ahead, num_stages)
        problem = check_plan(dependences, stage, order)
        if problem is None:
            goes_on = tuple(
                has_async_copies and n in ahead and _can_go_on(dependences, n, stage)
                for n in range(len(dependences.ops))
            )
            versions = versions_of(dependences, stage, order)
            left = tuple(reasons)
            return PipelinePlan(dependences.ops, stage, order, goes_on, versions, left)
        reasons.append(problem)
        ahead = _without_culprit(dependences, ahead, problem)
    if reasons:
        return replace(reasons[0], code=NOT_PIPELINED)
    return Refusal(NOT_PIPELINED, "the loop has no copy from global to shared memory")


def _overlaps(
    dependences: Dependences, ahead: set[int], num_stages: int, going_on: Set[Operation]
) -> bool:
    """Whether copies may be issued while GEMMs run: the loop has nothing else."""
    others = [op for position, op in enumerate(dependences.ops) if position not in ahead]
    is_complete = bool(ahead) and bool(others) and all(each in going_on for each in others)
    return is_complete and num_stages >= MIN_OVERLAPPING


def _overlapping(
    dependences: Dependences, ahead: set[int], num_stages: int, left: tuple[Refusal, ...]
) -> PipelinePlan | None:
    """The GEMMs of a step, then its copies; None if one of these has to be waited for at once."""
    count = len(dependences.ops)
    stage = tuple(0 if statement in ahead else num_stages - 1 for statement in range(count))
    sequence = sorted(range(count), key=lambda statement: (statement in ahead, statement))
    order = tuple(sequence.index(statement) for statement in range(count))
    goes_on = tuple(n in ahead and _can_go_on(dependences, n, stage) for n in range(count))
    if any(goes_on[n] is False for n in ahead):
        return None
    if check_plan(dependences, stage, order) is not None:
        return None
    needed = versions_of(dependences, stage, order)
    rotating = tuple(
        dict.fromkeys(region.base for n in sorted(ahead) for region in dependences.writes[n])
    )
    versions = {buffer: count + (buffer in rotating) for buffer, count in needed.items()}
    return PipelinePlan(dependences.ops, stage, order, goes_on, versions, left, rotating)


def _is_copy(dependences: Dependences, statement: int) -> bool:
    written, read = dependences.writes[statement], dependences.reads[statement]
    is_to_shared = bool(written) and all(
        region.space is not None and region.space.is_shared for region in written
    )
    return is_to_shared and any(region.space is Space.GLOBAL for region in read)


def _refusal_of(dependences: Dependences, statement: int) -> Refusal | None:
    for region in dependences.writes[statement]:
        if dependences.renamable.get(region.base) != statement:
            reason = dependences.why_not_renamable(region.base)
            return Refusal(NOT_PIPELINED, reason, (dependences.ops[statement],))
    return None


def _schedule(
    dependences: Dependences, ahead: set[int], num_stages: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    count = len(dependences.ops)
    first = _with_producers(dependences, ahead)
    sequence = _placed(dependences, first)
    is_last = all(statement in first for statement in sequence[count - len(first) :])
    depth = num_stages
    if is_last and num_stages >= 2:
        sequence = sequence[count - len(first) :] + sequence[: count - len(first)]
        depth = num_stages - 1
    stage = tuple(0 if statement in first else depth for statement in range(count))
    return stage, tuple(sequence.index(statement) for statement in range(count))


def _with_producers(dependences: Dependences, ahead: set[int]) -> set[int]:
    """The copies and the statements whose results they need."""
    first = set(ahead)
    for statement in reversed(range(len(dependences.ops))):
        needed_by = (user for user in first if user > statement)
        if any(dependences.feeds(statement, user) for user in needed_by):
            first.add(statement)
    return first


def _placed(dependences: Dependences, first: set[int]) -> list[int]:
    """Statements in source order, those of stage 0 after the last user of the buffer they fill."""
    sequence = [statement for statement in range(len(dependences.ops)) if statement not in first]
    index_of = {statement: position for position, statement in enumerate(sequence)}
    after: dict[int, list[int]] = {}
    latest = -1
    for statement in sorted(first):
        buffers = {region.base for region in dependences.writes[statement]}
        users = [
            index_of[user]
            for buffer in buffers
            for user in dependences.accessors(buffer)
            if user in index_of
        ]
        latest = max(latest, *users, -1)  # statements of stage 0 keep their order
        after.setdefault(latest, []).append(statement)
    result = list(after.get(-1, []))
    for position, statement in enumerate(sequence):
        result += [statement, *after.get(position, [])]
    return result


def _can_go_on(dependences: Dependences, statement: int, stage: tuple[int, ...]) -> bool:
    """Whether the copy can be asynchronous, and a later statement waits for it.

    The reader waits, in a later stage; a copy without a reader would never be waited for.
    """
    if asynchronous_part(dependences.ops[statement]) is None:
        return False
    buffers = {region.base for region in dependences.writes[statement]}
    users = {user for buffer in buffers for user in dependences.accessors(buffer)} - {statement}
    return bool(users) and all(stage[user] > stage[statement] for user in users)


def _without_culprit(dependences: Dependences, ahead: set[int], problem: Refusal) -> set[int]:
    """The copies but for one that the broken dependence is about, or the last one."""
    involved = [dependences.positions[op] for op in problem.ops if op in dependences.positions]
    culprits = [statement for statement in involved if statement in ahead]
    return ahead - {culprits[0] if culprits else max(ahead)}
