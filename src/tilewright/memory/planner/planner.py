"""From a problem to a checked plan: each space by itself, quickly first, exactly where it pays.

A space goes through the steps of this package: conflicts, parts, bound, quick plans; what is not
proved by then is searched, the highest part first, as the others only have to stay below it. Spaces
with `Inside` and `SameStart` are planned as bodies, and searched block by block if that could be
better. Whatever the outcome, the checker goes over it before anybody sees it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from tilewright.memory.planner import check as planner_check
from tilewright.memory.planner.bound import loads_of, lower_bound
from tilewright.memory.planner.conflicts import Conflicts, conflicts_of
from tilewright.memory.planner.cover import Contradiction, Cover, cover_of, ties
from tilewright.memory.planner.decompose import parts_of
from tilewright.memory.planner.effort import MAX, Effort, Meter, compile_time, core_seconds, halved
from tilewright.memory.planner.grid import grid_of
from tilewright.memory.planner.oriented import OrientedSearch
from tilewright.memory.planner.plan import Plan, SpacePlan
from tilewright.memory.planner.problem import Block, Problem, ProblemError, Relation, Space
from tilewright.memory.planner.search import PartSearch

_NODES_A_LOOK = 64
_NODES_FOR_A_FIRST_PLAN = 200_000
_COST_OF_ORDERS = 4
"""What a node of the search by orders costs, in nodes of the kernel."""


class PlannerFault(RuntimeError):
    """The checker refused a plan: a fault of this package, never of the problem."""


@dataclass(frozen=True)
class _Outcome:
    """One space: an offset for each of its blocks, in their order."""

    offsets: tuple[int, ...]
    lower: int
    method: str
    nodes: int
    nodes_to_best: int = 0


def plan_problem(problem: Problem, effort: Effort | str = "default") -> Plan:
    """A checked plan. `effort` is ``"default"`` (for a compiler), ``"max"`` or an `Effort`.

    A plan may exceed a capacity; then `Plan.fits` is false. Raises ProblemError where no plan
    exists.
    """
    offsets: dict[str, int] = {}
    spaces: list[SpacePlan] = []
    for space in problem.spaces:
        blocks = problem.in_space(space.name)
        outcome = _plan_space(space, blocks, _relations_of(problem, blocks), effort, problem)
        found = dict(zip((block.id for block in blocks), outcome.offsets, strict=True))
        offsets.update(found)
        height = max((found[block.id] + block.size for block in blocks), default=0)
        spaces.append(
            SpacePlan(
                space,
                height,
                outcome.lower,
                outcome.method,
                outcome.nodes,
                outcome.nodes_to_best,
            )
        )
    plan = Plan(problem, offsets, tuple(spaces))
    _verify(plan)
    return plan


def _relations_of(problem: Problem, blocks: Sequence[Block]) -> tuple[Relation, ...]:
    ids = {block.id for block in blocks}
    return tuple(relation for relation in problem.relations if relation.pair[0] in ids)


def _verify(plan: Plan) -> None:
    """Raise PlannerFault unless the checker agrees. A space too small is no fault of the plan."""
    heights = {one.space.name: one.height for one in plan.spaces}
    bounds = {one.space.name: one.lower_bound for one in plan.spaces}
    found = [
        *planner_check.check_offsets(plan.problem, plan.offsets),
        *planner_check.check_heights(plan.problem, plan.offsets, heights, bounds),
    ]
    wrong = [one for one in found if one.fault is not planner_check.PlanViolation.OVER_CAPACITY]
    if wrong:
        raise PlannerFault("\n".join(map(str, wrong)))


def _plan_space(
    space: Space,
    blocks: Sequence[Block],
    relations: Sequence[Relation],
    effort: Effort | str,
    problem: Problem,
) -> _Outcome:
    if not blocks:
        return _Outcome((), 0, "nothing to place", 0)
    started = core_seconds()
    grid = grid_of(blocks, relations)
    conflicts = conflicts_of(grid.blocks, grid.relations)
    _refuse_fixed_overlaps(conflicts, grid.step)
    budget = _Budget(effort, len(problem.spaces), started)
    capacity = None if space.capacity is None else space.capacity // grid.step
    if ties(relations):
        try:
            outcome = _plan_tied(conflicts, grid.relations, budget, capacity)
        except Contradiction as error:
            pairs = zip(grid.relations, relations, strict=True)
            given = [relation for counted, relation in pairs if counted in error.relations]
            raise ProblemError(f"{error.what}: {_requirements(blocks, given)}") from None
    else:
        outcome = _plan_free(conflicts, Meter(budget.of(conflicts), started=started), capacity)
    offsets = tuple(offset * grid.step for offset in outcome.offsets)
    return replace(outcome, offsets=offsets, lower=outcome.lower * grid.step)


@dataclass(frozen=True)
class _Budget:
    """The requested effort, and its limits for the search of some blocks."""

    effort: Effort | str
    spaces: int
    started: float

    def of(self, conflicts: Conflicts, cost: int = 1) -> Effort:
        """Limits for these blocks; `cost` is how much more than usual a node costs."""
        if isinstance(self.effort, Effort):
            seconds = self.effort.seconds
            share = None if seconds is None else seconds / self.spaces
            return replace(self.effort, seconds=share)
        if self.effort == "max":
            return MAX
        if self.effort != "default":
            raise ValueError(f"unknown effort '{self.effort}'; known: default, max, or an Effort")
        # A clique is checked once for each alignment among its members.
        alignments = len({block.align for block in conflicts.blocks})
        work = alignments * sum(len(clique) for clique in conflicts.cliques)
        return compile_time(cost * work)


def _requirements(blocks: Sequence[Block], relations: Sequence[Relation]) -> str:
    """What cannot hold together, in the caller's units: relations, fixed offsets, alignments."""
    ids = {id for relation in relations for id in relation.pair}
    parts = [str(relation) for relation in relations]
    for block in blocks:
        if block.id in ids and block.fixed is not None:
            parts.append(f"'{block.id}' fixed at {block.fixed}")
        elif block.id in ids and block.align > 1:
            parts.append(f"'{block.id}' aligned to {block.align}")
    return "; ".join(parts)


def _refuse_fixed_overlaps(conflicts: Conflicts, step: int) -> None:
    fixed = [(n, b, b.fixed) for n, b in enumerate(conflicts.blocks) if b.fixed is not None]
    for (one, a, start), (two, b, other) in combinations(fixed, 2):
        overlap = start < other + b.size and other < start + a.size
        if overlap and conflicts.between(one, two):
            raise ProblemError(
                f"'{a.id}' is fixed at {start * step} and '{b.id}' at {other * step}, "
                f"but they must not overlap"
            )


def _plan_free(conflicts: Conflicts, meter: Meter, capacity: int | None) -> _Outcome:
    """Blocks whose offsets do not depend on each other, but for not overlapping."""
    offsets = [block.fixed or 0 for block in conflicts.blocks]
    min_height = _top(offsets, conflicts)
    searches = [PartSearch(part, meter) for part in parts_of(conflicts)]
    if not searches:
        return _Outcome(tuple(offsets), min_height, "nothing to place", 0)
    while True:
        worst = max(searches, key=lambda search: search.best.height)
        others = [search.lower for search in searches if search is not worst]
        enough = max([min_height, *others])
        if worst.is_proved or worst.best.height <= enough or meter.is_empty:
            break
        worst.improve(meter, enough, capacity)
    for search in searches:
        for index, offset in zip(search.part.indices, search.best.offsets, strict=True):
            offsets[index] = offset
    lower = max([min_height, *(search.lower for search in searches)])
    return _Outcome(
        tuple(offsets), lower, worst.best.method, meter.spent, max(s.best_at for s in searches)
    )


def _plan_tied(
    conflicts: Conflicts, relations: Sequence[Relation], budget: _Budget, capacity: int | None
) -> _Outcome:
    """Blocks tied to each other: as bodies first, block by block where that may be lower."""
    loads = loads_of(conflicts.blocks, conflicts.cliques)
    lower = lower_bound(conflicts.blocks, loads)
    cover = cover_of(conflicts, relations)
    best = None if cover is None else _plan_cover(cover, conflicts, budget, capacity, lower)
    is_final = cover is not None and cover.is_exact
    if best is not None and (is_final or _height(best, conflicts) <= best.lower):
        return best
    spent = best.nodes if best is not None and isinstance(budget.effort, Effort) else 0
    meter = Meter(budget.of(conflicts, _COST_OF_ORDERS), spent, budget.started)
    limit = None if best is None else _height(best, conflicts) - 1
    search = OrientedSearch(conflicts, relations, loads, lower, limit)
    while not search.is_exhausted and not meter.is_empty:
        before = search.nodes
        search.run(meter.grant(_NODES_A_LOOK))
        meter.spent += search.nodes - before
    if best is None and search.best is None:
        search.run(_NODES_FOR_A_FIRST_PLAN)
    if search.best is not None:
        best = _Outcome(search.best, lower, "search of orders", meter.spent, meter.spent)
    if best is None:
        many = "exists" if search.is_exhausted else "was found in time"
        raise Contradiction(relations, f"no plan {many} for")
    if search.is_exhausted:
        return replace(best, lower=_height(best, conflicts), nodes=meter.spent)
    return replace(best, nodes=meter.spent)


def _plan_cover(
    cover: Cover, conflicts: Conflicts, budget: _Budget, capacity: int | None, lower: int
) -> _Outcome:
    """The bodies as blocks. Where they may have to come apart, half the effort is left for that."""
    bodies = conflicts_of([body.block for body in cover.bodies], cover.relations)
    effort = budget.of(bodies)
    meter = Meter(effort if cover.is_exact else halved(effort), started=budget.started)
    outcome = _plan_free(bodies, meter, capacity)
    offsets = tuple(cover.spread(outcome.offsets, len(conflicts.blocks)))
    if cover.is_exact:
        lower = max(lower, outcome.lower)
    return replace(outcome, offsets=offsets, lower=lower, method=f"bodies, {outcome.method}")


def _height(outcome: _Outcome, conflicts: Conflicts) -> int:
    return _top(outcome.offsets, conflicts)


def _top(offsets: Sequence[int], conflicts: Conflicts) -> int:
    return max(o + b.size for o, b in zip(offsets, conflicts.blocks, strict=True))
