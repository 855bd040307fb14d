"""Software pipelining: dependences between the statements of a loop, schedules, buffer versions."""

from tilewright.analysis.pipelining.automatic import plan_automatically
from tilewright.analysis.pipelining.dependences import Dependences
from tilewright.analysis.pipelining.manual import plan_manually
from tilewright.analysis.pipelining.plan import PipelinePlan, Refusal, check_plan, versions_of
from tilewright.analysis.pipelining.staged import plan_staged
from tilewright.analysis.pipelining.user_roles import (
    RoleVersions,
    has_user_roles,
    plan_user_roles,
)

__all__ = [
    "Dependences",
    "PipelinePlan",
    "Refusal",
    "RoleVersions",
    "check_plan",
    "has_user_roles",
    "plan_automatically",
    "plan_manually",
    "plan_staged",
    "plan_user_roles",
    "versions_of",
]
