"""The order in which procedures are tried: cheap and general first, exact for one launch last."""

from __future__ import annotations

from tilewright.analysis.pid_address.checks import intervals, presburger, smt
from tilewright.analysis.pid_address.checks.questions import Procedure

LINEAR: tuple[Procedure, ...] = (intervals.decide, presburger.decide)
SYMBOLIC: tuple[Procedure, ...] = (*LINEAR, smt.decide)
