"""Add what hints about tensors state of scalars to the ops that compute these.

    %p = tt.int_to_ptr %address                  {tt.divisibility = 16}
    %ptrs = tt.addptr ... {tt.divisibility = dense<16>}

The planner reads hints about scalars; `analysis.raising.hints` has the rule.
"""

from __future__ import annotations

from math import lcm

from xdsl.dialects.builtin import IntegerAttr, IntegerType

from tilewright.analysis.pid_address.control.blocks import DIVISIBILITY
from tilewright.analysis.raising.addresses import addresses_of
from tilewright.analysis.raising.hints import hinted_tensors, stated_multiples
from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.tt import FuncOp


def spread_hints(function: FuncOp) -> None:
    """Add the hints of tensors to those of the scalars of a prepared kernel, in place."""
    hinted = hinted_tensors(function)
    if not hinted:
        return
    for op, divisor in stated_multiples(addresses_of(function), hinted).items():
        stated = integers_in(op.attributes.get(DIVISIBILITY)) or (1,)
        op.attributes[DIVISIBILITY] = IntegerAttr(lcm(divisor, stated[0]), IntegerType(32))
