"""A user-specified schedule: ``T.Pipelined(..., stage=[...], order=[...])``."""

from __future__ import annotations

from tilewright.analysis.pipelining.automatic import plan_automatically
from tilewright.analysis.pipelining.dependences import Dependences
from tilewright.analysis.pipelining.plan import PipelinePlan, Refusal, check_plan, versions_of
from tilewright.dialects.tile.calls import call_text


def plan_manually(
    dependences: Dependences, stage: tuple[int, ...], order: tuple[int, ...]
) -> PipelinePlan | Refusal:
    """The plan of the lists, one entry for each statement, or why they are rejected."""
    count = len(dependences.ops)
    for name, given in (("stage", stage), ("order", order)):
        if len(given) != count:
            kinds = ", ".join(map(call_text, dependences.ops))
            return Refusal(
                "TW4040",
                f"{name} has {len(given)} entries, expected {count}: one for each op of the loop "
                f"body that reads or writes memory ({kinds})",
                help=_lists(dependences, max(stage, default=0)),
            )
    if sorted(order) != list(range(count)):
        return Refusal(
            "TW4041",
            f"Two statements in the software pipeline cannot have the same order: {list(order)} is "
            f"not a permutation of 0 to {count - 1}",
        )
    problem = check_plan(dependences, stage, order)
    if problem is not None:
        return problem
    versions = versions_of(dependences, stage, order)
    return PipelinePlan(dependences.ops, stage, order, (False,) * count, versions)


def _lists(dependences: Dependences, depth: int) -> str:
    """Lists of the right length: those that a plan for the same depth has, if there is one."""
    plan = plan_automatically(dependences, max(depth, 1) + 1)
    if isinstance(plan, Refusal):
        return "write one entry for each, in the order of the source"
    return f"for example stage={list(plan.stage)}, order={list(plan.order)}"
