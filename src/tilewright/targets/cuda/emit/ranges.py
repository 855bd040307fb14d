"""Range tests: ``0 <= x < 256`` is one comparison of unsigned integers.

NVVM takes the results of the two comparisons in C++ for integers before it looks for ranges: it
computes both, with shifts and selections, and their conjunction.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from tilewright.dialects.arith import CmpiOp
from tilewright.ir.interfaces import constant_value
from tilewright.targets.cxx import scalars
from tilewright.targets.cxx.emitter import LESS, Emitter, Rule, Text
from tilewright.targets.cxx.syntax import unsigned

_SIGNED_LESS, _SIGNED_AT_LEAST = 2, 5


def _and(emitter: Emitter, op: Operation) -> None:
    found = _tested(*op.operands) or _tested(*reversed(op.operands))
    if found is None:
        scalars.RULES[op.name](emitter, op)
        return
    value, bound = found
    name = unsigned(emitter.scalar(value.type).bits)
    operands = (scalars.unsigned_operand(emitter, each, name) for each in (value, bound))
    emitter.pure(op.results[0], Text(" < ".join(operands), LESS))


def _tested(lower: SSAValue, upper: SSAValue) -> tuple[SSAValue, SSAValue] | None:
    """The value that is at least 0 and less than a constant, and the constant."""
    first, second = lower.owner, upper.owner
    if not isinstance(first, CmpiOp) or not isinstance(second, CmpiOp):
        return None
    predicates = first.predicate.value.data, second.predicate.value.data
    if predicates != (_SIGNED_AT_LEAST, _SIGNED_LESS) or first.lhs is not second.lhs:
        return None
    zero, bound = constant_value(first.rhs), constant_value(second.rhs)
    if not isinstance(zero, IntegerAttr) or not isinstance(bound, IntegerAttr):
        return None
    if not isinstance(first.lhs.type, IndexType):
        return None  # guards test indices
    is_range = zero.value.data == 0 and bound.value.data >= 0
    return (first.lhs, second.rhs) if is_range else None


RULES: Mapping[str, Rule] = {"arith.andi": _and}
