"""What could be better: storage that is shared without need, and unused space.

Suggestions are for a kernel as a whole, since memory that is free for one region is what all other
allocations leave. Nothing is changed; every suggestion was planned and checked first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.memory import Finding, Memory, StoragePlan, finding, region_map, unsharings
from tilewright.passes.tlx.storage_alias.collect import function_of
from tilewright.passes.tlx.storage_alias.plain import PlainAllocations, names_in, plain_allocations
from tilewright.passes.tlx.storage_alias.planning import Planned, Settings

MAX_SUGGESTIONS_PER_REGION = 3
"""Suggestions reported for one region."""


def suggestions(
    module: ModuleOp, planned: Sequence[Planned], settings: Settings
) -> Iterator[tuple[Operation, Finding]]:
    """Buffers that need not share, with the spec they belong to."""
    taken = names_in(each.plan for each in planned if each.plan is not None)
    others = plain_allocations(module, taken)
    for function in dict.fromkeys(function_of(each.spec.op) for each in planned):
        own = [each for each in planned if function_of(each.spec.op) is function]
        for memory in Memory:
            yield from _suggestions(function, memory, own, others, settings)


def _suggestions(
    function: Operation,
    memory: Memory,
    planned: Sequence[Planned],
    others: PlainAllocations,
    settings: Settings,
) -> Iterator[tuple[Operation, Finding]]:
    """Suggestions about one memory of one kernel.

    Where an allocation has no known size the free capacity is unknown, which is reported.
    """
    plans = [each.plan for each in planned if each.plan is not None]
    capacity = settings.capacity(memory)
    if capacity is None or all(plan.region.memory is not memory for plan in plans):
        return
    unsized = [
        each
        for each in others.unsized
        if each.memory is memory and function_of(each.op) is function
    ]
    if unsized:
        yield from ((each.op, finding("R4", reason=each.reason)) for each in unsized)
        return
    plain = [plan for op, plan in others.plans.items() if function_of(op) is function]
    specs = {each.spec.region.name: each.spec.op for each in planned}
    found = unsharings([*plans, *plain], memory, capacity)
    for name in dict.fromkeys(each.region for each in found):
        own = [each for each in found if each.region == name]
        yield from ((specs[name], each.finding) for each in own[:MAX_SUGGESTIONS_PER_REGION])


def waste(plan: StoragePlan) -> Finding:
    """One line about the space that no buffer covers."""
    return finding("R3", plan.region.name, backing=plan.backing, waste=region_map(plan).waste)
