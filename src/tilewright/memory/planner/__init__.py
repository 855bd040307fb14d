"""The general planner: blocks with lifetimes go to offsets, as low as possible, with a proof.

    problem = Problem((Space("smem", capacity=232448),), blocks, relations)
    plan = plan_problem(problem)             a compiler's effort, the same on every machine
    plan = plan_problem(problem, "max")      until it is proved
    plan = plan_problem(problem, Effort(seconds=1))

`plan.offsets` by block, `plan.of("smem")` with height, lower bound, `optimal` and `method`. Storage
alias regions, automatic merging and the buffer registry all build a `Problem` and solve it here.
"""

from tilewright.memory.planner.accelerate import warm_up
from tilewright.memory.planner.effort import Effort
from tilewright.memory.planner.plan import DoesNotFit, Plan, SpacePlan
from tilewright.memory.planner.planner import PlannerFault, plan_problem
from tilewright.memory.planner.problem import (
    ALWAYS,
    Apart,
    AsyncRegion,
    Block,
    Inside,
    Live,
    MayOverlap,
    Problem,
    ProblemError,
    Relation,
    SameStart,
    Space,
)

__all__ = [
    "ALWAYS",
    "Apart",
    "AsyncRegion",
    "Block",
    "DoesNotFit",
    "Effort",
    "Inside",
    "Live",
    "MayOverlap",
    "Plan",
    "PlannerFault",
    "Problem",
    "ProblemError",
    "Relation",
    "SameStart",
    "Space",
    "SpacePlan",
    "plan_problem",
    "warm_up",
]
