"""Cycles of Tenstorrent programs: a model, not a measurement.

    tt_cost(plan)      cycles of every kernel on every core, from the plan file alone

All numbers come from one table (`parameters`), each with its source. Nothing here affects what a
program computes.
"""

from __future__ import annotations

NOTICE = "model, not measured"
"""What every prediction that a user sees carries."""
