"""What divides a run-time value of the host, by the ops that compute it.

    %n: i32 {tile.divisibility = 16}        what the caller of the function guarantees
    %s = arith.muli %n, 4                    a multiple of 64
    %t = arith.addi %s, %n                   a multiple of 16

Zero is a multiple of everything; its factor is 0, as in ``math.gcd``.
"""

from __future__ import annotations

from math import gcd

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import BlockArgument, Operation, SSAValue

from tilewright.dialects.func import argument_attributes
from tilewright.dialects.tile.names import DIVISIBILITY
from tilewright.ir.interfaces import constant_value

_CASTS = ("arith.index_cast", "arith.extsi", "arith.extui")
_ADDITIONS = ("arith.addi", "arith.subi")


def known_factor(value: SSAValue | int) -> int:
    """The greatest integer that `value` is known to be a multiple of."""
    if isinstance(value, int):
        return abs(value)
    if isinstance(value, BlockArgument):
        stated = argument_attributes(value).get(DIVISIBILITY)
        return stated.value.data if isinstance(stated, IntegerAttr) else 1
    constant = constant_value(value)
    if isinstance(constant, IntegerAttr):
        return abs(constant.value.data)
    op = value.owner
    if not isinstance(op, Operation):
        return 1
    if op.name in _CASTS:
        return known_factor(op.operands[0])
    if op.name == "arith.muli":
        return known_factor(op.operands[0]) * known_factor(op.operands[1])
    if op.name in _ADDITIONS:
        return gcd(known_factor(op.operands[0]), known_factor(op.operands[1]))
    return 1
