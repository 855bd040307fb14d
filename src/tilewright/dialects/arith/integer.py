"""Integer arithmetic: two operands and a result of one type, wrapping around unless flagged.

    addi subi muli shli                     may guarantee not to wrap: overflow<nsw, nuw>
    divsi divui shrsi shrui                 may guarantee no remainder: exact
    ceildivsi ceildivui floordivsi          round up or down
    remsi remui andi ori xori min* max*     plain
    *_extended                              two results, nothing is lost

Dividing by zero is undefined, so a division must not run where the source program would not have
run it: it has no memory effect, but is speculated only when its divisor is a harmless constant.
Remainders and ``floordivsi`` are freely speculated, as in MLIR.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation, OpResult
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Commutative, ConditionallySpeculatable, NoMemoryEffect, Pure

from tilewright.dialects.arith.attributes import NO_OVERFLOW_FLAGS, OVERFLOW, IntegerOverflowAttr
from tilewright.dialects.arith.constant import ConstantOp, integers_in
from tilewright.dialects.elementwise import (
    BOOL_LIKE,
    LIKE_RESULT,
    SIZED_INTEGER_LIKE,
    CheckedElementwise,
    Operand,
    UniformOp,
    value_of,
)
from tilewright.dialects.type_utils import i1_like
from tilewright.ir.text.assembly import AsmOp, TypeRule
from tilewright.ir.text.syntax import UNIT, AttributeSyntax


class IntegerBinaryOp(UniformOp):
    """Base of integer ops with two operands."""

    lhs = operand_def(SIZED_INTEGER_LIKE)
    rhs = operand_def(SIZED_INTEGER_LIKE)
    result = result_def(SIZED_INTEGER_LIKE)

    ASM: ClassVar[str] = "$lhs `,` $rhs attr-dict `:` type($result)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"lhs": LIKE_RESULT, "rhs": LIKE_RESULT}

    def __init__(self, lhs: Operand, rhs: Operand) -> None:
        lhs = value_of(lhs)
        Operation.__init__(self, operands=(lhs, value_of(rhs)), result_types=(lhs.type,))


class OverflowingOp(UniformOp):
    """Base of integer ops that may guarantee not to wrap around."""

    lhs = operand_def(SIZED_INTEGER_LIKE)
    rhs = operand_def(SIZED_INTEGER_LIKE)
    result = result_def(SIZED_INTEGER_LIKE)
    overflow_flags = prop_def(
        IntegerOverflowAttr, default_value=NO_OVERFLOW_FLAGS, prop_name="overflowFlags"
    )

    traits = traits_def(Pure())
    ASM: ClassVar[str] = (
        "$lhs `,` $rhs (`overflow` `` $overflowFlags^)? attr-dict `:` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"overflowFlags": OVERFLOW}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"lhs": LIKE_RESULT, "rhs": LIKE_RESULT}

    def __init__(
        self, lhs: Operand, rhs: Operand, overflow_flags: IntegerOverflowAttr = NO_OVERFLOW_FLAGS
    ) -> None:
        lhs = value_of(lhs)
        Operation.__init__(
            self,
            operands=(lhs, value_of(rhs)),
            result_types=(lhs.type,),
            properties={"overflowFlags": overflow_flags},
        )


class ExactOp(UniformOp):
    """Base of integer ops that may guarantee to drop no set bit and leave no remainder."""

    lhs = operand_def(SIZED_INTEGER_LIKE)
    rhs = operand_def(SIZED_INTEGER_LIKE)
    result = result_def(SIZED_INTEGER_LIKE)
    is_exact = opt_prop_def(UnitAttr, prop_name="isExact")

    ASM: ClassVar[str] = "$lhs `,` $rhs (`exact` $isExact^)? attr-dict `:` type($result)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"isExact": UNIT}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"lhs": LIKE_RESULT, "rhs": LIKE_RESULT}

    def __init__(self, lhs: Operand, rhs: Operand, *, is_exact: bool = False) -> None:
        lhs = value_of(lhs)
        Operation.__init__(
            self,
            operands=(lhs, value_of(rhs)),
            result_types=(lhs.type,),
            properties={"isExact": UnitAttr()} if is_exact else {},
        )


# Speculation of divisions.


def _has_safe_divisor(op: Operation, unsafe: tuple[int, ...]) -> bool:
    divisor = op.operands[1]
    if not isinstance(divisor, OpResult) or not isinstance(divisor.op, ConstantOp):
        return False
    values = integers_in(divisor.op.value)
    return values is not None and not any(value in unsafe for value in values)


class UnsignedDivision(ConditionallySpeculatable):
    """May be speculated if the divisor is known not to be zero."""

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        return _has_safe_divisor(op, (0,))


class SignedDivision(ConditionallySpeculatable):
    """May be speculated if the divisor is known to be neither zero nor -1, which can overflow."""

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        return _has_safe_divisor(op, (0, -1))


# Ops.


@irdl_op_definition
class AddiOp(OverflowingOp):
    name = "arith.addi"
    traits = traits_def(Commutative())


@irdl_op_definition
class SubiOp(OverflowingOp):
    name = "arith.subi"


@irdl_op_definition
class MuliOp(OverflowingOp):
    name = "arith.muli"
    traits = traits_def(Commutative())


@irdl_op_definition
class ShliOp(OverflowingOp):
    name = "arith.shli"


@irdl_op_definition
class ShruiOp(ExactOp):
    name = "arith.shrui"
    traits = traits_def(Pure())


@irdl_op_definition
class ShrsiOp(ExactOp):
    name = "arith.shrsi"
    traits = traits_def(Pure())


@irdl_op_definition
class DivuiOp(ExactOp):
    name = "arith.divui"
    traits = traits_def(NoMemoryEffect(), UnsignedDivision())


@irdl_op_definition
class DivsiOp(ExactOp):
    name = "arith.divsi"
    traits = traits_def(NoMemoryEffect(), SignedDivision())


@irdl_op_definition
class CeildivuiOp(IntegerBinaryOp):
    name = "arith.ceildivui"
    traits = traits_def(NoMemoryEffect(), UnsignedDivision())


@irdl_op_definition
class CeildivsiOp(IntegerBinaryOp):
    name = "arith.ceildivsi"
    traits = traits_def(NoMemoryEffect(), SignedDivision())


@irdl_op_definition
class FloordivsiOp(IntegerBinaryOp):
    name = "arith.floordivsi"
    traits = traits_def(Pure())


@irdl_op_definition
class RemuiOp(IntegerBinaryOp):
    name = "arith.remui"
    traits = traits_def(Pure())


@irdl_op_definition
class RemsiOp(IntegerBinaryOp):
    name = "arith.remsi"
    traits = traits_def(Pure())


@irdl_op_definition
class AndiOp(IntegerBinaryOp):
    name = "arith.andi"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class OriOp(IntegerBinaryOp):
    name = "arith.ori"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class XoriOp(IntegerBinaryOp):
    name = "arith.xori"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MaxsiOp(IntegerBinaryOp):
    name = "arith.maxsi"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MaxuiOp(IntegerBinaryOp):
    name = "arith.maxui"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MinsiOp(IntegerBinaryOp):
    name = "arith.minsi"
    traits = traits_def(Pure(), Commutative())


@irdl_op_definition
class MinuiOp(IntegerBinaryOp):
    name = "arith.minui"
    traits = traits_def(Pure(), Commutative())


# Two results.

_SAME_AS_SUM = TypeRule("all of {lhs, rhs, sum} have same type", lambda types: types["sum"])
_SAME_AS_DIFFERENCE = TypeRule(
    "all of {lhs, rhs, diff} have same type", lambda types: types["diff"]
)
_SAME_AS_LHS = TypeRule("all of {lhs, rhs, low, high} have same type", lambda types: types["lhs"])


@irdl_op_definition
class AdduiExtendedOp(AsmOp):
    """The sum, and whether it needed one bit more."""

    name = "arith.addui_extended"
    lhs = operand_def(SIZED_INTEGER_LIKE)
    rhs = operand_def(SIZED_INTEGER_LIKE)
    sum = result_def(SIZED_INTEGER_LIKE)
    overflow = result_def(BOOL_LIKE)

    traits = traits_def(Pure(), Commutative(), CheckedElementwise())
    ASM: ClassVar[str] = "$lhs `,` $rhs attr-dict `:` type($sum) `,` type($overflow)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"lhs": _SAME_AS_SUM, "rhs": _SAME_AS_SUM}

    def __init__(self, lhs: Operand, rhs: Operand) -> None:
        lhs = value_of(lhs)
        types = (lhs.type, i1_like(lhs.type))
        Operation.__init__(self, operands=(lhs, value_of(rhs)), result_types=types)

    def asm_result_names(self) -> list[str]:
        return ["sum", "overflow"]


@irdl_op_definition
class SubuiExtendedOp(AsmOp):
    """The difference, and whether it needed a borrow."""

    name = "arith.subui_extended"
    lhs = operand_def(SIZED_INTEGER_LIKE)
    rhs = operand_def(SIZED_INTEGER_LIKE)
    diff = result_def(SIZED_INTEGER_LIKE)
    borrow = result_def(BOOL_LIKE)

    traits = traits_def(Pure(), CheckedElementwise())
    ASM: ClassVar[str] = "$lhs `,` $rhs attr-dict `:` type($diff) `,` type($borrow)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "lhs": _SAME_AS_DIFFERENCE,
        "rhs": _SAME_AS_DIFFERENCE,
    }

    def __init__(self, lhs: Operand, rhs: Operand) -> None:
        lhs = value_of(lhs)
        types = (lhs.type, i1_like(lhs.type))
        Operation.__init__(self, operands=(lhs, value_of(rhs)), result_types=types)

    def asm_result_names(self) -> list[str]:
        return ["diff", "borrow"]


class ExtendedMultiplication(AsmOp):
    """Base of multiplications that return the full double-width result in halves."""

    lhs = operand_def(SIZED_INTEGER_LIKE)
    rhs = operand_def(SIZED_INTEGER_LIKE)
    low = result_def(SIZED_INTEGER_LIKE)
    high = result_def(SIZED_INTEGER_LIKE)

    traits = traits_def(Pure(), Commutative(), CheckedElementwise())
    ASM: ClassVar[str] = "$lhs `,` $rhs attr-dict `:` type($lhs)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "rhs": _SAME_AS_LHS,
        "low": _SAME_AS_LHS,
        "high": _SAME_AS_LHS,
    }

    def __init__(self, lhs: Operand, rhs: Operand) -> None:
        lhs = value_of(lhs)
        types = (lhs.type, lhs.type)
        Operation.__init__(self, operands=(lhs, value_of(rhs)), result_types=types)

    def asm_result_names(self) -> list[str]:
        return ["low", "high"]


@irdl_op_definition
class MulsiExtendedOp(ExtendedMultiplication):
    name = "arith.mulsi_extended"


@irdl_op_definition
class MuluiExtendedOp(ExtendedMultiplication):
    name = "arith.mului_extended"
