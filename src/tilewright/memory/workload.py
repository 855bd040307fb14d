"""All regions of one memory together: what they take, and planning many variants of them."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.memory.plan import Options, StoragePlan, try_plan
from tilewright.memory.region import StorageRegion
from tilewright.memory.targets import TMEM_ALLOCATION_GRANULE, Memory
from tilewright.memory.units import align_up


def occupied(plans: Sequence[StoragePlan]) -> int:
    """What all plans of one memory take together, the rounding of an allocator included."""
    end = 0
    for plan in plans:
        start = align_up(end, _start_alignment(plan)) + plan.backing.residue
        end = start + plan.backing.allocated
    return end


def _start_alignment(plan: StoragePlan) -> int:
    if plan.region.memory is Memory.TMEM:
        return max(TMEM_ALLOCATION_GRANULE, plan.backing.alignment)
    return plan.backing.alignment


def plan_all(regions: Sequence[StorageRegion], options: Options) -> tuple[StoragePlan, ...] | None:
    """A plan for every region, or None where one of them has none."""
    plans: list[StoragePlan] = []
    for region in regions:
        plan = try_plan(region, options).plan
        if plan is None:
            return None
        plans.append(plan)
    return tuple(plans)


def listed(names: Sequence[str]) -> str:
    """Names for a message: ``'a', 'b' and 'c'``."""
    quoted = [f"'{name}'" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
