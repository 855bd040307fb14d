"""What could be better: storage that is shared without need, and room that nobody uses.

Advice is given for a module as a whole, since memory that is free for one region is what all other
allocations leave. Nothing is changed; every piece of advice was planned and checked first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from tilewright.dialects.ttg.checks import memdesc
from tilewright.dialects.ttg.memory import LocalAllocOp
from tilewright.dialects.ttng.tmem import TMEMAllocOp
from tilewright.ir.traversal import walk
from tilewright.memory import (
    Memory,
    StoragePlan,
    Unsharing,
    plain_region,
    plan_region,
    region_map,
    unsharings,
)
from tilewright.passes.tlx.storage_alias.buffers import buffer_of
from tilewright.passes.tlx.storage_alias.collect import Names, source_of
from tilewright.passes.tlx.storage_alias.planning import Planned, Settings

MAX_ADVICE = 3
"""Pieces of advice given for one region; more than that nobody reads."""


def plain_plans(module: ModuleOp) -> Iterator[StoragePlan]:
    """The ordinary allocations of `module`, which take room too."""
    names = Names()
    for op in walk(module):
        if isinstance(op, LocalAllocOp | TMEMAllocOp):
            name = names.of(op.result, "allocation")
            try:
                buffer = buffer_of(name, memdesc(op.result.type), source_of(op))
            except ValueError:
                continue
            plan = plan_region(plain_region(buffer)).plan
            if plan is not None:
                yield plan


def advice(
    module: ModuleOp, planned: Sequence[Planned], settings: Settings
) -> Iterator[tuple[Operation, Unsharing]]:
    """Who need not share, with the spec it is about."""
    others = list(plain_plans(module))
    plans = [each.plan for each in planned if each.plan is not None]
    specs = {each.spec.region.name: each.spec.op for each in planned}
    for memory in Memory:
        capacity = settings.capacity(memory)
        if capacity is None:
            continue
        found = unsharings([*plans, *others], memory, capacity)
        for name in dict.fromkeys(each.region for each in found):
            mine = [each for each in found if each.region == name]
            for each in mine[:MAX_ADVICE]:
                yield specs[name], each


def waste(plan: StoragePlan) -> str:
    """One line about the room that no buffer covers."""
    return f"{plan.backing}: {region_map(plan).waste}"
