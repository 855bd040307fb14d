"""From a prepared kernel to the plan: ops, addresses, values, buffers, loops, in this order."""

from __future__ import annotations

from tilewright.analysis.raising.accesses import bases_of, plan_accesses
from tilewright.analysis.raising.addresses import addresses_of
from tilewright.analysis.raising.loops import plan_loops
from tilewright.analysis.raising.plan import RaisePlan
from tilewright.analysis.raising.refusals import Refusals
from tilewright.analysis.raising.slots import assign_slots
from tilewright.analysis.raising.support import check_ops
from tilewright.analysis.raising.values import classify_values
from tilewright.dialects.tt import FuncOp


def plan_raising(function: FuncOp, num_stages: int = 3) -> RaisePlan:
    """Decide everything; what cannot be raised is in ``refusals``."""
    refusals = Refusals()
    check_ops(function, refusals)
    addresses = addresses_of(function)
    accesses = plan_accesses(addresses, refusals)
    values = classify_values(function, bases_of(accesses))
    slots = assign_slots(function, values)
    loops = plan_loops(function, values, num_stages)
    return RaisePlan(function, addresses, accesses, (), values, slots, loops, refusals.listed())
