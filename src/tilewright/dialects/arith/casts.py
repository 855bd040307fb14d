"""Conversions between element types; the shape stays.

    extsi extui trunci          integers of another width
    extf truncf convertf        floats: wider, narrower, or another format of the same width
    sitofp uitofp fptosi fptoui integers and floats
    index_cast index_castui     ``index`` and integers
    bitcast                     the same bits
    scaling_extf scaling_truncf floats with a scale each (microscaling formats)

What can be converted into what is one predicate per op, on element types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import IndexType, IntegerAttr, TensorType, UnitAttr, UnrankedTensorType
from xdsl.ir import Attribute, Operation
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.arith.attributes import (
    FAST_MATH,
    NO_OVERFLOW_FLAGS,
    OVERFLOW,
    ROUNDING_MODE,
    FastMathFlagsAttr,
    IntegerOverflowAttr,
    check_rounding_mode,
)
from tilewright.dialects.elementwise import (
    FIXED_INTEGER_LIKE,
    FLOAT_LIKE,
    CheckedElementwise,
    Elementwise,
    Operand,
    check_same_shape,
    is_float,
    is_signless_integer,
    is_signless_integer_or_index,
    like_or_memref,
    value_of,
)
from tilewright.dialects.type_utils import bit_width, element_type_of, encoding_of, shape_of
from tilewright.ir.constraints import Satisfies
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.syntax import UNIT, AttributeSyntax

Compatible: TypeAlias = Callable[[Attribute, Attribute], bool]
"""Whether an element of the first type can be converted into one of the second."""


def _always(source: Attribute, target: Attribute) -> bool:
    return True


def _widens(source: Attribute, target: Attribute) -> bool:
    return bit_width(source) < bit_width(target)


def _narrows(source: Attribute, target: Attribute) -> bool:
    return bit_width(source) > bit_width(target)


def _keeps_width(source: Attribute, target: Attribute) -> bool:
    return bit_width(source) == bit_width(target)


def _changes_format(source: Attribute, target: Attribute) -> bool:
    return source != target and _keeps_width(source, target)


def _trades_index(source: Attribute, target: Attribute) -> bool:
    return isinstance(source, IndexType) != isinstance(target, IndexType)


INDEX_CASTABLE = Satisfies(
    "signless-non-zero-bitwidth-integer-like or memref of signless-integer",
    like_or_memref(is_signless_integer_or_index),
)
BITCASTABLE = Satisfies(
    "non-zero-bitwidth-signless-integer-or-float-like or memref of non-zero-bitwidth signless "
    "integer or float",
    like_or_memref(lambda type: is_signless_integer(type) or is_float(type)),
)


def _tensor_dimensions(type: Attribute) -> tuple[int, ...] | None:
    if isinstance(type, UnrankedTensorType):
        return None
    return shape_of(type) if isinstance(type, TensorType) else ()


def _check_dimensions(source: Attribute, target: Attribute) -> None:
    if _tensor_dimensions(source) != _tensor_dimensions(target):
        raise VerifyException(
            "failed to verify that input and output have the same tensor dimensions"
        )


def _are_compatible(source: Attribute, target: Attribute, can_convert: Compatible) -> bool:
    encodings_agree = (
        not isinstance(source, TensorType)
        or not isinstance(target, TensorType)
        or encoding_of(source) == encoding_of(target)
    )
    return encodings_agree and can_convert(element_type_of(source), element_type_of(target))


class CastOp(AsmOp):
    """Base of conversions with one operand; subclasses declare ``input`` and ``result``."""

    CAN_CONVERT: ClassVar[Compatible] = _always

    traits = traits_def(Pure(), Elementwise())
    ASM: ClassVar[str] = "$input attr-dict `:` type($input) `to` type($result)"

    def __init__(self, value: Operand, type: Attribute) -> None:
        Operation.__init__(self, operands=(value_of(value),), result_types=(type,))

    def verify_type_rules(self) -> None:
        source, target = self.operands[0].type, self.results[0].type
        _check_dimensions(source, target)
        check_same_shape((source, target))
        if not _are_compatible(source, target, type(self).CAN_CONVERT):
            raise VerifyException(
                f"operand type '{source}' and result type '{target}' are cast incompatible"
            )


class RoundedCastOp(CastOp):
    """Base of conversions between floats that may have to round."""

    input = operand_def(FLOAT_LIKE)
    result = result_def(FLOAT_LIKE)
    rounding_mode = opt_prop_def(IntegerAttr, prop_name="roundingmode")
    fastmath = opt_prop_def(FastMathFlagsAttr)

    ASM: ClassVar[str] = (
        "$input ($roundingmode^)? (`fastmath` `` $fastmath^)? attr-dict "
        "`:` type($input) `to` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "roundingmode": ROUNDING_MODE,
        "fastmath": FAST_MATH,
    }

    def __init__(
        self, value: Operand, type: Attribute, *, rounding_mode: str | None = None
    ) -> None:
        properties: dict[str, Attribute] = {}
        if rounding_mode is not None:
            properties["roundingmode"] = ROUNDING_MODE.attribute(rounding_mode)
        Operation.__init__(
            self, operands=(value_of(value),), result_types=(type,), properties=properties
        )

    def verify_(self) -> None:
        check_rounding_mode(self.rounding_mode)


class UnsignedCastOp(CastOp):
    """Base of conversions that may guarantee their operand not to be negative."""

    is_non_negative = opt_prop_def(UnitAttr, prop_name="nonNeg")

    ASM: ClassVar[str] = "$input (`nneg` $nonNeg^)? attr-dict `:` type($input) `to` type($result)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"nonNeg": UNIT}


# Integers.


@irdl_op_definition
class ExtsiOp(CastOp):
    name = "arith.extsi"
    input = operand_def(FIXED_INTEGER_LIKE)
    result = result_def(FIXED_INTEGER_LIKE)
    CAN_CONVERT: ClassVar[Compatible] = _widens


@irdl_op_definition
class ExtuiOp(UnsignedCastOp):
    name = "arith.extui"
    input = operand_def(FIXED_INTEGER_LIKE)
    result = result_def(FIXED_INTEGER_LIKE)
    CAN_CONVERT: ClassVar[Compatible] = _widens


@irdl_op_definition
class TrunciOp(CastOp):
    name = "arith.trunci"
    input = operand_def(FIXED_INTEGER_LIKE)
    result = result_def(FIXED_INTEGER_LIKE)
    overflow_flags = prop_def(
        IntegerOverflowAttr, default_value=NO_OVERFLOW_FLAGS, prop_name="overflowFlags"
    )

    CAN_CONVERT: ClassVar[Compatible] = _narrows
    ASM: ClassVar[str] = (
        "$input (`overflow` `` $overflowFlags^)? attr-dict `:` type($input) `to` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"overflowFlags": OVERFLOW}

    def __init__(
        self,
        value: Operand,
        type: Attribute,
        overflow_flags: IntegerOverflowAttr = NO_OVERFLOW_FLAGS,
    ) -> None:
        Operation.__init__(
            self,
            operands=(value_of(value),),
            result_types=(type,),
            properties={"overflowFlags": overflow_flags},
        )


@irdl_op_definition
class IndexCastOp(CastOp):
    name = "arith.index_cast"
    input = operand_def(INDEX_CASTABLE)
    result = result_def(INDEX_CASTABLE)
    CAN_CONVERT: ClassVar[Compatible] = _trades_index


@irdl_op_definition
class IndexCastuiOp(UnsignedCastOp):
    name = "arith.index_castui"
    input = operand_def(INDEX_CASTABLE)
    result = result_def(INDEX_CASTABLE)
    CAN_CONVERT: ClassVar[Compatible] = _trades_index


# Floats.


@irdl_op_definition
class ExtfOp(CastOp):
    name = "arith.extf"
    input = operand_def(FLOAT_LIKE)
    result = result_def(FLOAT_LIKE)
    fastmath = opt_prop_def(FastMathFlagsAttr)

    CAN_CONVERT: ClassVar[Compatible] = _widens
    ASM: ClassVar[str] = (
        "$input (`fastmath` `` $fastmath^)? attr-dict `:` type($input) `to` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"fastmath": FAST_MATH}


@irdl_op_definition
class TruncfOp(RoundedCastOp):
    name = "arith.truncf"
    CAN_CONVERT: ClassVar[Compatible] = _narrows


@irdl_op_definition
class ConvertfOp(RoundedCastOp):
    name = "arith.convertf"
    CAN_CONVERT: ClassVar[Compatible] = _changes_format


# Integers and floats.


@irdl_op_definition
class SitofpOp(CastOp):
    name = "arith.sitofp"
    input = operand_def(FIXED_INTEGER_LIKE)
    result = result_def(FLOAT_LIKE)


@irdl_op_definition
class UitofpOp(UnsignedCastOp):
    name = "arith.uitofp"
    input = operand_def(FIXED_INTEGER_LIKE)
    result = result_def(FLOAT_LIKE)


@irdl_op_definition
class FptosiOp(CastOp):
    name = "arith.fptosi"
    input = operand_def(FLOAT_LIKE)
    result = result_def(FIXED_INTEGER_LIKE)


@irdl_op_definition
class FptouiOp(CastOp):
    name = "arith.fptoui"
    input = operand_def(FLOAT_LIKE)
    result = result_def(FIXED_INTEGER_LIKE)


@irdl_op_definition
class BitcastOp(CastOp):
    name = "arith.bitcast"
    input = operand_def(BITCASTABLE)
    result = result_def(BITCASTABLE)
    CAN_CONVERT: ClassVar[Compatible] = _keeps_width


# Floats with a scale.


class ScaledCastOp(AsmOp):
    """Base of the two scaled conversions; only the value's width is compared, not the scale's."""

    CAN_CONVERT: ClassVar[Compatible] = _always

    traits = traits_def(Pure(), CheckedElementwise())

    def verify_type_rules(self) -> None:
        value, scale = self.operand_types
        target = self.results[0].type
        _check_dimensions(value, target)
        if not _are_compatible(value, target, type(self).CAN_CONVERT):
            raise VerifyException(
                f"operand types '{value}', '{scale}' and result type '{target}' "
                "are cast incompatible"
            )


@irdl_op_definition
class ScalingExtfOp(ScaledCastOp):
    name = "arith.scaling_extf"
    input = operand_def(FLOAT_LIKE)
    scale = operand_def(FLOAT_LIKE)
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(FLOAT_LIKE)

    CAN_CONVERT: ClassVar[Compatible] = _widens
    ASM: ClassVar[str] = (
        "$input `,` $scale (`fastmath` `` $fastmath^)? attr-dict "
        "`:` type($input) `,` type($scale) `to` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"fastmath": FAST_MATH}

    def __init__(self, value: Operand, scale: Operand, type: Attribute) -> None:
        operands = (value_of(value), value_of(scale))
        Operation.__init__(self, operands=operands, result_types=(type,))


@irdl_op_definition
class ScalingTruncfOp(ScaledCastOp):
    name = "arith.scaling_truncf"
    input = operand_def(FLOAT_LIKE)
    scale = operand_def(FLOAT_LIKE)
    rounding_mode = opt_prop_def(IntegerAttr, prop_name="roundingmode")
    fastmath = opt_prop_def(FastMathFlagsAttr)
    result = result_def(FLOAT_LIKE)

    CAN_CONVERT: ClassVar[Compatible] = _narrows
    ASM: ClassVar[str] = (
        "$input `,` $scale ($roundingmode^)? (`fastmath` `` $fastmath^)? attr-dict "
        "`:` type($input) `,` type($scale) `to` type($result)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "roundingmode": ROUNDING_MODE,
        "fastmath": FAST_MATH,
    }

    def __init__(self, value: Operand, scale: Operand, type: Attribute) -> None:
        operands = (value_of(value), value_of(scale))
        Operation.__init__(self, operands=operands, result_types=(type,))

    def verify_(self) -> None:
        check_rounding_mode(self.rounding_mode)
