"""Builds the checker's input from a plan.

The intervals come from the plan, the guarantees from the trees (`relations`): had the planner
misread a tree, the two would disagree and the checker would show where.
"""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.memory import checker
from tilewright.memory.checker import Case, Claim, Guarantee, Pair, Span, Violation, Window
from tilewright.memory.placement import Placement
from tilewright.memory.plan import StoragePlan
from tilewright.memory.region import LiveRanges, live_together
from tilewright.memory.relations import relations
from tilewright.memory.tree import ReuseKind

_GUARANTEES = {ReuseKind.DISTINCT: Guarantee.DISTINCT, ReuseKind.SHARED: Guarantee.SHARED}


def case_of(plan: StoragePlan, capacity: int | None = None, live: LiveRanges | None = None) -> Case:
    """All placements and guarantees of one region."""
    backing = checker.Backing(
        plan.region.name,
        plan.backing.allocated,
        plan.region.memory.unit_name,
        plan.backing.alignment,
        plan.backing.residue,
        capacity,
    )
    outside = {buffer.name for buffer in plan.outside}
    claims = tuple(claim_of(p, p.buffer.name in outside) for p in plan.placements)
    return Case(backing, claims, tuple(_pairs(plan, live)))


def check_plan(
    plan: StoragePlan, capacity: int | None = None, live: LiveRanges | None = None
) -> tuple[Violation, ...]:
    """Every guarantee the plan violates; empty for a plan that is proved."""
    return checker.check(case_of(plan, capacity, live))


def claim_of(placement: Placement, is_outside: bool = False) -> Claim:
    """One buffer's intervals. Outside the trees it is aligned as a plain allocation would be."""
    buffer = placement.buffer
    spans = tuple(
        Span(index, start, buffer.unit) for index, start in enumerate(placement.addresses)
    )
    if is_outside:
        return Claim(buffer.name, spans, buffer.packed_alignment)
    window = Window(placement.stride, placement.group_size)
    return Claim(buffer.name, spans, buffer.alignment, window=window)


def _pairs(plan: StoragePlan, live: LiveRanges | None) -> Iterator[Pair]:
    stated: set[frozenset[str]] = set()
    for tree in plan.trees:
        for relation in relations(tree.tree):
            stated.add(frozenset((relation.first, relation.second)))
            yield Pair(
                relation.first,
                relation.second,
                _GUARANTEES[relation.kind],
                relation.first_per,
                relation.second_per,
            )
    outside = {buffer.name for buffer in plan.outside}
    names = [placement.buffer.name for placement in plan.placements]
    for position, first in enumerate(names):
        for second in names[position + 1 :]:
            if frozenset((first, second)) in stated:
                continue
            # Outside the trees the user is responsible; phases are disjoint in time.
            is_free = bool({first, second} & outside) or not live_together(live, first, second)
            yield Pair(first, second, Guarantee.FREE if is_free else Guarantee.DISTINCT)
