"""From what is known about a program to a `planner.Problem`, one file a source of knowledge.

    calls     functions that call each other: scratch is live while its function runs
    regions   storage alias regions: each is one rigid block, live whenever one of its buffers is

These modules decide nothing. They list what has to be placed and when it is live.
"""

from tilewright.memory.planner.problems.calls import (
    Call,
    CallError,
    Function,
    Scratch,
    functions_problem,
    in_order,
    running,
    together,
)
from tilewright.memory.planner.problems.regions import (
    RegionArena,
    Sharing,
    plan_regions,
    regions_problem,
    sharing_of,
)

__all__ = [
    "Call",
    "CallError",
    "Function",
    "RegionArena",
    "Scratch",
    "Sharing",
    "functions_problem",
    "in_order",
    "plan_regions",
    "regions_problem",
    "running",
    "sharing_of",
    "together",
]
