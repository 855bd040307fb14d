"""Conditions that state that a value is a multiple of a constant: ``x % 8 == 0``.

The languages round remainders in three ways. All of them are zero for the same values, but only one
is a remainder to the algebra of `analysis.affine`; so the condition is read from its ops:

    %r = arith.remsi %x, 8                      towards zero
    %n = arith.select (%r < 0), %r + 8, %r      towards minus infinity, derived from it
    %c = arith.cmpi eq, %n, 0
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import CmpiOp, SelectOp
from tilewright.ir.interfaces import constant_integer

_REMAINDERS = ("arith.remsi", "arith.remui")


def multiple_in(condition: SSAValue) -> tuple[SSAValue, int] | None:
    """The value that is a multiple of the integer if `condition` holds, if it states just that."""
    op = condition.owner
    if not isinstance(op, CmpiOp) or op.predicate_name != "eq":
        return None
    left, right = op.operands
    for side, other in ((left, right), (right, left)):
        if constant_integer(other) == 0:
            found = _remainder(side)
            if found is not None:
                return found
    return None


def _remainder(value: SSAValue) -> tuple[SSAValue, int] | None:
    op = value.owner
    if not isinstance(op, Operation):
        return None
    if op.name in _REMAINDERS:
        divisor = constant_integer(op.operands[1])
        return (op.operands[0], divisor) if divisor is not None and divisor > 0 else None
    if not isinstance(op, SelectOp):
        return None
    _, raised, plain = op.operands
    found = _remainder(plain)
    if found is None or not isinstance(raised.owner, Operation):
        return None
    # The other choice adds the divisor, which preserves divisibility.
    is_sum = raised.owner.name == "arith.addi" and plain in raised.owner.operands
    added = [constant_integer(each) for each in raised.owner.operands if each is not plain]
    return found if is_sum and added == [found[1]] else None
