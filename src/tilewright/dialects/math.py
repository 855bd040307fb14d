"""The ``math`` dialect: functions of floats and a few of integers, element by element.

All of MLIR's ops of that name. Classes are named as in ``arith``: ``Exp2Op`` is ``math.exp2``.
Every function of floats takes fast-math flags; the ``is...`` tests have them too, but print them
in the attribute dictionary, as upstream does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure

from tilewright.dialects.arith.attributes import FAST_MATH, NO_FAST_MATH, FastMathFlagsAttr
from tilewright.dialects.arith.floating import FloatBinaryOp, FloatUnaryOp
from tilewright.dialects.elementwise import (
    BOOL_LIKE,
    FLOAT_LIKE,
    INTEGER_LIKE,
    LIKE_RESULT,
    Elementwise,
    Operand,
    UniformOp,
    check_same_shape,
    value_of,
)
from tilewright.dialects.members import dialect_of
from tilewright.dialects.type_utils import i1_like
from tilewright.ir.text.assembly import AsmOp, TypeRule
from tilewright.ir.text.syntax import AttributeSyntax

# Floats, one operand.


@irdl_op_definition
class AbsfOp(FloatUnaryOp):
    name = "math.absf"


@irdl_op_definition
class AcosOp(FloatUnaryOp):
    name = "math.acos"


@irdl_op_definition
class AcoshOp(FloatUnaryOp):
    name = "math.acosh"


@irdl_op_definition
class AsinOp(FloatUnaryOp):
    name = "math.asin"


@irdl_op_definition
class AsinhOp(FloatUnaryOp):
    name = "math.asinh"


@irdl_op_definition
class AtanOp(FloatUnaryOp):
    name = "math.atan"


@irdl_op_definition
class AtanhOp(FloatUnaryOp):
    name = "math.atanh"


@irdl_op_definition
class CbrtOp(FloatUnaryOp):
    name = "math.cbrt"


@irdl_op_definition
class CeilOp(FloatUnaryOp):
    name = "math.ceil"


@irdl_op_definition
class CosOp(FloatUnaryOp):
    name = "math.cos"


@irdl_op_definition
class CoshOp(FloatUnaryOp):
    name = "math.cosh"


@irdl_op_definition
class ErfOp(FloatUnaryOp):
    name = "math.erf"


@irdl_op_definition
class ErfcOp(FloatUnaryOp):
    name = "math.erfc"


@irdl_op_definition
class ExpOp(FloatUnaryOp):
    name = "math.exp"


@irdl_op_definition
class Exp2Op(FloatUnaryOp):
    name = "math.exp2"


@irdl_op_definition
class Expm1Op(FloatUnaryOp):
    name = "math.expm1"


@irdl_op_definition
class FloorOp(FloatUnaryOp):
    name = "math.floor"


@irdl_op_definition
class LogOp(FloatUnaryOp):
    name = "math.log"


@irdl_op_definition
class Log10Op(FloatUnaryOp):
    name = "math.log10"


@irdl_op_definition
class Log1pOp(FloatUnaryOp):
    name = "math.log1p"


@irdl_op_definition
class Log2Op(FloatUnaryOp):
    name = "math.log2"


@irdl_op_definition
class RoundOp(FloatUnaryOp):
    name = "math.round"


@irdl_op_definition
class RoundevenOp(FloatUnaryOp):
    name = "math.roundeven"


@irdl_op_definition
class RsqrtOp(FloatUnaryOp):
    name = "math.rsqrt"


@irdl_op_definition
class SinOp(FloatUnaryOp):
    name = "math.sin"


@irdl_op_definition
class SinhOp(FloatUnaryOp):
    name = "math.sinh"


@irdl_op_definition
class SqrtOp(FloatUnaryOp):
    name = "math.sqrt"


@irdl_op_definition
class TanOp(FloatUnaryOp):
    name = "math.tan"


@irdl_op_definition
class TanhOp(FloatUnaryOp):
    name = "math.tanh"


@irdl_op_definition
class TruncOp(FloatUnaryOp):
    name = "math.trunc"


# Floats, two and three operands.


@irdl_op_definition
class Atan2Op(FloatBinaryOp):
    name = "math.atan2"


@irdl_op_definition
class CopysignOp(FloatBinaryOp):
    name = "math.copysign"


@irdl_op_definition
class PowfOp(FloatBinaryOp):
    name = "math.powf"


@irdl_op_definition
class FmaOp(UniformOp):
    """``a * b + c``, rounded once."""

    name = "math.fma"
    a = operand_def(FLOAT_LIKE)
    b = operand_def(FLOAT_LIKE)
    c = operand_def(FLOAT_LIKE)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)
    result = result_def(FLOAT_LIKE)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$a `,` $b `,` $c (`fastmath` `` $fastmath^)? attr-dict `:` type($result)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"fastmath": FAST_MATH}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "a": LIKE_RESULT,
        "b": LIKE_RESULT,
        "c": LIKE_RESULT,
    }

    def __init__(
        self, a: Operand, b: Operand, c: Operand, fastmath: FastMathFlagsAttr = NO_FAST_MATH
    ) -> None:
        a = value_of(a)
        Operation.__init__(
            self,
            operands=(a, value_of(b), value_of(c)),
            result_types=(a.type,),
            properties={"fastmath": fastmath},
        )


@irdl_op_definition
class ClampfOp(UniformOp):
    """The value, moved into the range from `min` to `max`."""

    name = "math.clampf"
    value = operand_def(FLOAT_LIKE)
    min = operand_def(FLOAT_LIKE)
    max = operand_def(FLOAT_LIKE)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)
    result = result_def(FLOAT_LIKE)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = (
        "$value `to` ` ` `[` $min `,` $max `]` (`fastmath` `` $fastmath^)? attr-dict "
        "`:` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"fastmath": FAST_MATH}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "value": LIKE_RESULT,
        "min": LIKE_RESULT,
        "max": LIKE_RESULT,
    }

    def __init__(
        self,
        value: Operand,
        min: Operand,
        max: Operand,
        fastmath: FastMathFlagsAttr = NO_FAST_MATH,
    ) -> None:
        value = value_of(value)
        Operation.__init__(
            self,
            operands=(value, value_of(min), value_of(max)),
            result_types=(value.type,),
            properties={"fastmath": fastmath},
        )


@irdl_op_definition
class SincosOp(UniformOp):
    """Sine and cosine at once."""

    name = "math.sincos"
    operand = operand_def(FLOAT_LIKE)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)
    sin = result_def(FLOAT_LIKE)
    cos = result_def(FLOAT_LIKE)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$operand (`fastmath` `` $fastmath^)? attr-dict `:` type($sin)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"fastmath": FAST_MATH}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        name: TypeRule("all have one type", lambda types: types["sin"])
        for name in ("operand", "cos")
    }

    def __init__(self, operand: Operand, fastmath: FastMathFlagsAttr = NO_FAST_MATH) -> None:
        operand = value_of(operand)
        Operation.__init__(
            self,
            operands=(operand,),
            result_types=(operand.type, operand.type),
            properties={"fastmath": fastmath},
        )

    def asm_result_names(self) -> list[str]:
        return ["sin", "cos"]


@irdl_op_definition
class FpowiOp(AsmOp):
    """A float to an integer power."""

    name = "math.fpowi"
    lhs = operand_def(FLOAT_LIKE)
    rhs = operand_def(INTEGER_LIKE)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)
    result = result_def(FLOAT_LIKE)

    traits = traits_def(Pure(), Elementwise())
    ASM: ClassVar[str] = (
        "$lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs) `,` type($rhs)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"fastmath": FAST_MATH}
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "result": TypeRule("all of {lhs, result} have same type", lambda types: types["lhs"])
    }

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

    def verify_(self) -> None:
        check_same_shape([*self.operand_types, self.result.type])


# Floats, tests.


class ClassificationOp(AsmOp):
    """Base of tests of a float, with an ``i1`` for each element."""

    operand = operand_def(FLOAT_LIKE)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)
    result = result_def(BOOL_LIKE)

    traits = traits_def(Pure(), Elementwise())
    ASM: ClassVar[str] = "$operand attr-dict `:` type($operand)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "result": TypeRule(
            "result type has i1 element type and same shape as operands",
            lambda types: i1_like(types["operand"]),
        )
    }

    def __init__(self, operand: Operand, fastmath: FastMathFlagsAttr = NO_FAST_MATH) -> None:
        operand = value_of(operand)
        Operation.__init__(
            self,
            operands=(operand,),
            result_types=(i1_like(operand.type),),
            properties={"fastmath": fastmath},
        )


@irdl_op_definition
class IsfiniteOp(ClassificationOp):
    name = "math.isfinite"


@irdl_op_definition
class IsinfOp(ClassificationOp):
    name = "math.isinf"


@irdl_op_definition
class IsnanOp(ClassificationOp):
    name = "math.isnan"


@irdl_op_definition
class IsnormalOp(ClassificationOp):
    name = "math.isnormal"


# Integers.


class IntegerUnaryOp(UniformOp):
    """Base of integer functions with one operand."""

    operand = operand_def(INTEGER_LIKE)
    result = result_def(INTEGER_LIKE)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$operand attr-dict `:` type($result)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"operand": LIKE_RESULT}

    def __init__(self, operand: Operand) -> None:
        operand = value_of(operand)
        Operation.__init__(self, operands=(operand,), result_types=(operand.type,))


@irdl_op_definition
class AbsiOp(IntegerUnaryOp):
    name = "math.absi"


@irdl_op_definition
class CtlzOp(IntegerUnaryOp):
    name = "math.ctlz"


@irdl_op_definition
class CtpopOp(IntegerUnaryOp):
    name = "math.ctpop"


@irdl_op_definition
class CttzOp(IntegerUnaryOp):
    name = "math.cttz"


@irdl_op_definition
class IpowiOp(UniformOp):
    """A signed integer to an integer power."""

    name = "math.ipowi"
    lhs = operand_def(INTEGER_LIKE)
    rhs = operand_def(INTEGER_LIKE)
    result = result_def(INTEGER_LIKE)

    traits = traits_def(Pure())
    ASM: ClassVar[str] = "$lhs `,` $rhs attr-dict `:` type($result)"
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"lhs": LIKE_RESULT, "rhs": LIKE_RESULT}

    def __init__(self, lhs: Operand, rhs: Operand) -> None:
        lhs = value_of(lhs)
        Operation.__init__(self, operands=(lhs, value_of(rhs)), result_types=(lhs.type,))


Math = dialect_of("math", globals())
