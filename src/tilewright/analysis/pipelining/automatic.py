"""Schedules for ``T.Pipelined(..., num_stages=n)``: copies run ahead, everything else follows.

* A *copy* writes shared memory from what it reads in global memory, into a buffer of which each
  turn can have its own version. It goes to stage 0, and so does what it needs.
* All other statements go to stage ``n``, in their order. A copy is placed behind the last user of
  its buffer, so ``n`` versions are enough.
* If that puts all copies last and ``n > 1``, they go first instead and the others to stage
  ``n - 1``: as many versions, and the copies are issued earlier.

A copy that cannot run ahead stays where it is; if none can, the loop stays serial, with the reason.
"""

from __future__ import annotations

from tilewright.analysis.pipelining.dependences import Dependences
from tilewright.analysis.pipelining.plan import PipelinePlan, Refusal, check_plan, versions_of
from tilewright.dialects.tile import CopyOp, Space
from tilewright.dialects.type_utils import element_type_of

NOT_PIPELINED = "TW4045"


def plan_automatically(
    dependences: Dependences, num_stages: int, *, has_async_copies: bool = True
) -> PipelinePlan | Refusal:
    """The plan for a depth, or why the loop stays serial."""
    ahead = {number for number in range(len(dependences.ops)) if _is_copy(dependences, number)}
    reasons: list[Refusal] = []
    for number in sorted(ahead):
        reason = _refusal_of(dependences, number)
        if reason is not None:
            reasons.append(reason)
            ahead.discard(number)
    while ahead:
        stage, order = _schedule(dependences, ahead, num_stages)
        problem = check_plan(dependences, stage, order)
        if problem is None:
            goes_on = tuple(
                has_async_copies and n in ahead and _can_go_on(dependences, n, stage)
                for n in range(len(dependences.ops))
            )
            versions = versions_of(dependences, stage, order)
            return PipelinePlan(dependences.ops, stage, order, goes_on, versions)
        reasons.append(problem)
        ahead = _without_culprit(dependences, ahead, problem)
    if reasons:
        return Refusal(NOT_PIPELINED, reasons[0].message, reasons[0].ops)
    return Refusal(NOT_PIPELINED, "nothing in the loop copies global memory to shared memory")


def _is_copy(dependences: Dependences, number: int) -> bool:
    written, read = dependences.writes[number], dependences.reads[number]
    is_to_shared = bool(written) and all(
        region.space is not None and region.space.is_shared for region in written
    )
    return is_to_shared and any(region.space is Space.GLOBAL for region in read)


def _refusal_of(dependences: Dependences, number: int) -> Refusal | None:
    for region in dependences.writes[number]:
        if dependences.renamable.get(region.base) != number:
            reason = dependences.why_not_renamable(region.base)
            return Refusal(NOT_PIPELINED, reason, (dependences.ops[number],))
    return None


def _schedule(
    dependences: Dependences, ahead: set[int], num_stages: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    count = len(dependences.ops)
    first = _with_producers(dependences, ahead)
    sequence = _placed(dependences, first)
    is_last = all(number in first for number in sequence[count - len(first) :])
    depth = num_stages
    if is_last and num_stages >= 2:
        sequence = sequence[count - len(first) :] + sequence[: count - len(first)]
        depth = num_stages - 1
    stage = tuple(0 if number in first else depth for number in range(count))
    return stage, tuple(sequence.index(number) for number in range(count))


def _with_producers(dependences: Dependences, ahead: set[int]) -> set[int]:
    """The copies and the statements whose results they need."""
    first = set(ahead)
    for number in reversed(range(len(dependences.ops))):
        needed_by = (user for user in first if user > number)
        if any(_feeds(dependences, number, user) for user in needed_by):
            first.add(number)
    return first


def _feeds(dependences: Dependences, number: int, user: int) -> bool:
    if user in dependences.results_used[number]:
        return True
    return any(
        one.may_overlap(other)
        for one in dependences.writes[number]
        for other in dependences.reads[user]
    )


def _placed(dependences: Dependences, first: set[int]) -> list[int]:
    """Statements in source order, those of stage 0 behind the last user of what they fill."""
    sequence = [number for number in range(len(dependences.ops)) if number not in first]
    place = {number: position for position, number in enumerate(sequence)}
    behind: dict[int, list[int]] = {}
    latest = -1
    for number in sorted(first):
        buffers = {region.base for region in dependences.writes[number]}
        users = [
            place[user]
            for buffer in buffers
            for user in dependences.accessors(buffer)
            if user in place
        ]
        latest = max(latest, *users, -1)  # statements of stage 0 keep their order
        behind.setdefault(latest, []).append(number)
    result = list(behind.get(-1, []))
    for position, number in enumerate(sequence):
        result += [number, *behind.get(position, [])]
    return result


def _can_go_on(dependences: Dependences, number: int, stage: tuple[int, ...]) -> bool:
    """Whether the hardware can do the copy by itself, and somebody waits for it in time.

    It copies bytes as they are. Whoever looks at them waits, in a later stage; what nobody looks at
    would never be waited for.
    """
    op = dependences.ops[number]
    if not isinstance(op, CopyOp) or element_type_of(op.src.type) != element_type_of(op.dst.type):
        return False
    buffers = {region.base for region in dependences.writes[number]}
    users = {user for buffer in buffers for user in dependences.accessors(buffer)} - {number}
    return bool(users) and all(stage[user] > stage[number] for user in users)


def _without_culprit(dependences: Dependences, ahead: set[int], problem: Refusal) -> set[int]:
    """The copies but for one that the broken dependence is about, or the last one."""
    involved = [dependences.number[op] for op in problem.ops if op in dependences.number]
    culprits = [number for number in involved if number in ahead]
    return ahead - {culprits[0] if culprits else max(ahead)}
