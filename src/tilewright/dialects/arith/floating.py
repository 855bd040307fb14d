"""Floating-point arithmetic: operands and result of one type, with optional fast-math flags.

addf subf mulf divf                     may also state a rounding mode
remf                                    sign of the dividend
maximumf minimumf                       a NaN operand gives NaN
maxnumf minnumf                         a NaN operand is passed over
negf flush_denormals                    one operand
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Commutative, Pure

from tilewright.dialects.arith.attributes import (
    FAST_MATH,
    NO_FAST_MATH,
    ROUNDING_MODE,
    FastMathFlagsAttr,
    check_rounding_mode,
)
from tilewright.dialects.elementwise import FLOAT_LIKE, LIKE_RESULT, Operand, UniformOp, value_of
from tilewright.ir.text.assembly import TypeRule
from tilewright.ir.text.syntax import AttributeSyntax


class FloatUnaryOp(UniformOp):
    """Base of floating-point ops with one operand."""

    operand = operand_def(FLOAT_LIKE)
    result = result_def(FLOAT_LIKE)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"fastmath": FAST_MATH}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"operand": LIKE_RESULT}

    def __init__(self, operand: Operand, fastmath: FastMathFlagsAttr = NO_FAST_MATH) -> None:
        operand = value_of(operand)
        Operation.__init__(
            self,
            operands=(operand,),
            result_types=(operand.type,),
            properties={"fastmath": fastmath},
        )


class FloatBinaryOp(UniformOp):
    """Base of floating-point ops with two operands."""

    lhs = operand_def(FLOAT_LIKE)
    rhs = operand_def(FLOAT_LIKE)
    result = result_def(FLOAT_LIKE)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"fastmath": FAST_MATH}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"lhs": LIKE_RESULT, "rhs": LIKE_RESULT}

    def __init__(
        self, lhs: Operand, rhs: Operand, fastmath: FastMathFlagsAttr = NO_FAST_MATH
    ) -> None:
        lhs = value_of(lhs)
        Operation.__init__(
            self,
            operands=(lhs, value_of(rhs)),
            result_types=(lhs.type,),
            properties={"fastmath": fastmath},
        )


class RoundedBinaryOp(UniformOp):
    """Base of the four basic operations, which may state how to round."""

    lhs = operand_def(FLOAT_LIKE)
    rhs = operand_def(FLOAT_LIKE)
    result = result_def(FLOAT_LIKE)
    rounding_mode = opt_prop_def(IntegerAttr, prop_name="roundingmode")
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = (
        "$lhs `,` $rhs ($roundingmode^)? (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "roundingmode": ROUNDING_MODE,
        "fastmath": FAST_MATH,
    }
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"lhs": LIKE_RESULT, "rhs": LIKE_RESULT}

    def __init__(
        self,
        lhs: Operand,
        rhs: Operand,
        fastmath: FastMathFlagsAttr = NO_FAST_MATH,
        *,
        rounding_mode: str | None = None,
    ) -> None:
        lhs = value_of(lhs)
        properties: dict[str, Attribute] = {"fastmath": fastmath}
        if rounding_mode is not None:
            properties["roundingmode"] = ROUNDING_MODE.attribute(rounding_mode)
        Operation.__init__(
            self, operands=(lhs, value_of(rhs)), result_types=(lhs.type,), properties=properties
        )

    def verify_(self) -> None:
        check_rounding_mode(self.rounding_mode)


@irdl_op_definition
class NegfOp(FloatUnaryOp):
    name = "arith.negf"


@irdl_op_definition
class FlushDenormalsOp(FloatUnaryOp):
    name = "arith.flush_denormals"


@irdl_op_definition
class AddfOp(RoundedBinaryOp):
    name = "arith.addf"
    traits = traits_def(Commutative())


@irdl_op_definition
class SubfOp(RoundedBinaryOp):
    name = "arith.subf"


@irdl_op_definition
class MulfOp(RoundedBinaryOp):
    name = "arith.mulf"
    traits = traits_def(Commutative())


@irdl_op_definition
class DivfOp(RoundedBinaryOp):
    name = "arith.divf"


@irdl_op_definition
class RemfOp(FloatBinaryOp):
    name = "arith.remf"


@irdl_op_definition
class MaximumfOp(FloatBinaryOp):
    name = "arith.maximumf"
    traits = traits_def(Commutative())


@irdl_op_definition
class MaxnumfOp(FloatBinaryOp):
    name = "arith.maxnumf"
    traits = traits_def(Commutative())


@irdl_op_definition
class MinimumfOp(FloatBinaryOp):
    name = "arith.minimumf"
    traits = traits_def(Commutative())


@irdl_op_definition
class MinnumfOp(FloatBinaryOp):
    name = "arith.minnumf"
    traits = traits_def(Commutative())
