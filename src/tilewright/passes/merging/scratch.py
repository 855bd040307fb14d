"""Ops that need shared scratch memory, and groups that would occupy it.

Layout conversions, reductions and the like are lowered through scratch memory. It is taken from
what is free at that op. One allocation for a whole group is in use from its first buffer to its
last, so memory that single allocations would leave free in between is gone. Where that could cost
more than the plan needs anyway, the group is better left alone: an allocator that follows the
single allocations may still give them the same bytes.

Sizes are upper bounds, as another compiler does the lowering.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xdsl.ir import Attribute, Operation

from tilewright.dialects.ttg.context import num_warps_at
from tilewright.dialects.type_utils import bit_width, element_type_of, is_tensor, shape_of
from tilewright.memory import Memory
from tilewright.passes.merging.blocks import Candidate, FunctionPlan
from tilewright.passes.merging.groups import Group

_WHOLE_RESULT = frozenset(("ttg.convert_layout", "tt.gather", "tt.histogram"))
_PER_WARP = frozenset(("tt.reduce", "tt.scan"))


def scratch_bytes(op: Operation) -> int:
    """How much shared memory the lowering of `op` may need for itself."""
    if op.name not in _WHOLE_RESULT and op.name not in _PER_WARP:
        return 0
    warps = (num_warps_at(op) or 1) if op.name in _PER_WARP else 1
    return sum(warps * _bytes(result.type) for result in op.results)


def _bytes(type: Attribute) -> int:
    return prod(shape_of(type)) * bit_width(element_type_of(type)) // 8 if is_tensor(type) else 0


def crowding(plan: FunctionPlan, groups: Sequence[Group]) -> dict[int, Operation]:
    """The groups, by position, that could take more than they save, and the op that shows it."""
    found: dict[int, Operation] = {}
    limit = plan.needed(Memory.SMEM)
    shared = [(n, g) for n, g in enumerate(groups) if g.members[0].memory is Memory.SMEM]
    for point, op, size in _scratch_points(plan):
        here = [(n, g) for n, g in shared if g.first <= point < g.last]
        if not here:
            continue
        if sum(g.size for _, g in here) + _alone(plan, groups, point) + size > limit:
            for index, group in here:
                if _idle(group, point):
                    found.setdefault(index, op)
    return found


def _scratch_points(plan: FunctionPlan) -> Iterator[tuple[int, Operation, int]]:
    for point, each in enumerate(plan.liveness.flow.points):
        if not each.is_exit and (size := scratch_bytes(each.op)):
            yield point, each.op, size


def _alone(plan: FunctionPlan, groups: Sequence[Group], point: int) -> int:
    """What buffers outside of the groups take at `point`."""
    grouped = {member.name for group in groups for member in group.members}
    return sum(
        each.size
        for each in plan.of(Memory.SMEM)
        if each.name not in grouped and (each.fixed_because or _is_held(each.buffer.spans, point))
    )


def _idle(group: Group, point: int) -> int:
    """How many bytes of a group are not live at `point`."""
    idle, end = group.size, 0
    for member, start in sorted(zip(group.members, group.offsets, strict=True), key=_by_offset):
        if _is_held(member.buffer.spans, point) and start + member.size > end:
            idle -= start + member.size - max(start, end)
            end = start + member.size
    return idle


def _by_offset(placed: tuple[Candidate, int]) -> int:
    return placed[1]


def _is_held(spans: Sequence[tuple[int, int]], point: int) -> bool:
    return any(start <= point < end for start, end in spans)
