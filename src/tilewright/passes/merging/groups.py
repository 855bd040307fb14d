"""Buffers of a plan that share addresses, as groups that become one allocation each."""

from __future__ import annotations

from dataclasses import dataclass

from tilewright.dialects.ttg.checks import memdesc
from tilewright.memory import Memory
from tilewright.passes.merging.blocks import Candidate, FunctionPlan
from tilewright.passes.tlx.storage_alias.buffers import unit_of


@dataclass(frozen=True)
class Group:
    """Buffers that share: a range of addresses of the plan, starting at `start`."""

    members: tuple[Candidate, ...]
    offsets: tuple[int, ...]
    start: int
    size: int
    align: int

    @property
    def apart(self) -> int:
        """The total size of the members without sharing."""
        return sum(member.size for member in self.members)

    @property
    def first(self) -> int:
        """The first point at which one of them is in use."""
        return min((m.buffer.spans[0][0] for m in self.members if m.buffer.spans), default=0)

    @property
    def last(self) -> int:
        """The end of the last stretch of points at which one of them is in use."""
        return max((m.buffer.spans[-1][1] for m in self.members if m.buffer.spans), default=0)


def groups_of(plan: FunctionPlan, memory: Memory) -> tuple[Group, ...]:
    """The connected address ranges in which buffers overlap."""
    movable = sorted((each for each in plan.of(memory) if not each.fixed_because), key=plan.offset)
    stretches: list[list[Candidate]] = []
    end = -1
    for each in movable:
        if plan.offset(each) >= end:
            stretches.append([])
        stretches[-1].append(each)
        end = max(end, plan.offset(each) + each.size)
    found = (_group(plan, members) for members in stretches if len(members) > 1)
    return tuple(group for group in found if memory is Memory.SMEM or _is_array(group))


def _group(plan: FunctionPlan, members: list[Candidate]) -> Group:
    align = max(member.align for member in members)
    # Textual order, for output that reads like the input.
    ordered = sorted(members, key=lambda member: plan.liveness.flow.enter[member.op])
    start = min(map(plan.offset, members)) // align * align
    end = max(plan.offset(member) + member.size for member in members)
    offsets = tuple(plan.offset(member) - start for member in ordered)
    return Group(tuple(ordered), offsets, start, end - start, align)


def _is_array(group: Group) -> bool:
    """Whether columns can be had as elements of arrays of each member's own kind."""
    return all(
        offset == 0 or (type.rank == 2 and offset % unit_of(type) == 0)
        for member, offset in zip(group.members, group.offsets, strict=True)
        for type in (memdesc(member.op.result.type),)
    )
