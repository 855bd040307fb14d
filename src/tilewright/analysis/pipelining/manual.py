"""A user-specified schedule: ``T.Pipelined(..., stage=[...], order=[...])``."""

from __future__ import annotations

from tilewright.analysis.pipelining.dependences import Dependences
from tilewright.analysis.pipelining.plan import PipelinePlan, Refusal, check_plan, versions_of


def plan_manually(
    dependences: Dependences, stage: tuple[int, ...], order: tuple[int, ...]
) -> PipelinePlan | Refusal:
    """The plan of the lists, one entry for each statement, or why they are rejected."""
    count = len(dependences.ops)
    for name, given in (("stage", stage), ("order", order)):
        if len(given) != count:
            kinds = ", ".join(op.name for op in dependences.ops)
            return Refusal(
                "TW4040",
                f"{name} has {len(given)} entries, expected {count}: one for each op of the loop "
                f"body that reads or writes memory ({kinds})",
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
