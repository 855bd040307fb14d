"""Comparisons and the choice between two values.

The result of a comparison has the shape of its operands and elements ``i1``. ``arith.select``
takes one ``i1`` for all, or one per element; the text shows the condition's type only in the
second case.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from xdsl.dialects.builtin import IntegerAttr, i1
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.arith.attributes import (
    CMPF_ATTRIBUTES,
    CMPF_PREDICATE,
    CMPI_ATTRIBUTES,
    CMPI_PREDICATE,
    FAST_MATH,
    NO_FAST_MATH,
    FastMathFlagsAttr,
    check_predicate,
)
from tilewright.dialects.elementwise import (
    BOOL_LIKE,
    FLOAT_LIKE,
    SIZED_INTEGER_LIKE,
    CheckedElementwise,
    Elementwise,
    Operand,
    have_compatible_shapes,
    is_container,
    value_of,
)
from tilewright.dialects.type_utils import i1_like
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.text.syntax import AttributeSyntax

_RESULT = TypeRule(
    "result type has i1 element type and same shape as operands",
    lambda types: i1_like(types["lhs"]),
)
_RHS = TypeRule("both operands have one type", lambda types: types["lhs"])


class ComparisonOp(AsmOp):
    """Base of ``cmpi`` and ``cmpf``."""

    traits = traits_def(Pure(), Elementwise())
    TYPES: ClassVar[Mapping[str, TypeRule]] = {"rhs": _RHS, "result": _RESULT}

    def verify_type_rules(self) -> None:
        lhs, rhs = self.operand_types
        result, expected = self.results[0].type, i1_like(lhs)
        if result is not expected and result != expected:
            raise VerifyException(f"failed to verify that {_RESULT.description}")
        if rhs is not lhs and rhs != lhs:
            raise VerifyException("requires all operands to have the same type")


@irdl_op_definition
class CmpiOp(ComparisonOp):
    name = "arith.cmpi"
    predicate = prop_def(IntegerAttr)
    lhs = operand_def(SIZED_INTEGER_LIKE)
    rhs = operand_def(SIZED_INTEGER_LIKE)
    result = result_def(BOOL_LIKE)

    ASM: ClassVar[str] = "$predicate `,` $lhs `,` $rhs attr-dict `:` type($lhs)"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"predicate": CMPI_PREDICATE}

    def __init__(self, predicate: str, lhs: Operand, rhs: Operand) -> None:
        lhs = value_of(lhs)
        Operation.__init__(
            self,
            operands=(lhs, value_of(rhs)),
            result_types=(i1_like(lhs.type),),
            properties={"predicate": CMPI_ATTRIBUTES[predicate]},
        )

    @property
    def predicate_name(self) -> str:
        """The predicate as a keyword, such as ``slt``."""
        return CMPI_PREDICATE.keyword(self.predicate)

    def verify_(self) -> None:
        check_predicate(self.predicate, CMPI_PREDICATE)


@irdl_op_definition
class CmpfOp(ComparisonOp):
    name = "arith.cmpf"
    predicate = prop_def(IntegerAttr)
    lhs = operand_def(FLOAT_LIKE)
    rhs = operand_def(FLOAT_LIKE)
    fastmath = prop_def(FastMathFlagsAttr, default_value=NO_FAST_MATH)
    result = result_def(BOOL_LIKE)

    ASM: ClassVar[str] = (
        "$predicate `,` $lhs `,` $rhs (`fastmath` `` $fastmath^)? attr-dict `:` type($lhs)"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {
        "predicate": CMPF_PREDICATE,
        "fastmath": FAST_MATH,
    }

    def __init__(
        self,
        predicate: str,
        lhs: Operand,
        rhs: Operand,
        fastmath: FastMathFlagsAttr = NO_FAST_MATH,
    ) -> None:
        lhs = value_of(lhs)
        Operation.__init__(
            self,
            operands=(lhs, value_of(rhs)),
            result_types=(i1_like(lhs.type),),
            properties={"predicate": CMPF_ATTRIBUTES[predicate], "fastmath": fastmath},
        )

    @property
    def predicate_name(self) -> str:
        """The predicate as a keyword, such as ``olt``."""
        return CMPF_PREDICATE.keyword(self.predicate)

    def verify_(self) -> None:
        check_predicate(self.predicate, CMPF_PREDICATE)


def _parse_select_types(parser: IRParser, state: ParseState) -> None:
    first = parser.parse_type()
    if parser.parse_optional_punctuation(",") is None:
        state.types["condition"], state.types["result"] = (i1,), (first,)
    else:
        state.types["condition"], state.types["result"] = (first,), (parser.parse_type(),)


def _print_select_types(printer: IRPrinter, op: SelectOp) -> None:
    if is_container(op.condition.type):
        printer.print_attribute(op.condition.type)
        printer.print_string(", ")
    printer.print_attribute(op.result.type)


_SAME_VALUES = TypeRule(
    "all of {true_value, false_value, result} have same type", lambda types: types["result"]
)


@irdl_op_definition
class SelectOp(AsmOp):
    name = "arith.select"
    condition = operand_def(BOOL_LIKE)
    true_value = operand_def()
    false_value = operand_def()
    result = result_def()

    traits = traits_def(Pure(), CheckedElementwise())
    ASM: ClassVar[str] = (
        "$condition `,` $true_value `,` $false_value attr-dict `:` custom<SelectTypes>()"
    )
    TYPES: ClassVar[Mapping[str, TypeRule]] = {
        "true_value": _SAME_VALUES,
        "false_value": _SAME_VALUES,
    }
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {
        "SelectTypes": Directive(_parse_select_types, _print_select_types)
    }

    def __init__(self, condition: Operand, true_value: Operand, false_value: Operand) -> None:
        true_value = value_of(true_value)
        Operation.__init__(
            self,
            operands=(value_of(condition), true_value, value_of(false_value)),
            result_types=(true_value.type,),
        )

    def verify_type_rules(self) -> None:
        condition, on_true, on_false = self.operand_types
        result = self.results[0].type
        if any(type is not result and type != result for type in (on_true, on_false)):
            raise VerifyException(f"failed to verify that {_SAME_VALUES.description}")
        if is_container(condition) and not have_compatible_shapes((condition, result)):
            raise VerifyException(
                "failed to verify that condition is signless i1 or has matching shape"
            )

    def verify_(self) -> None:
        condition, result = self.condition.type, self.result.type
        if not is_container(condition):
            return
        expected = i1_like(result)
        if condition is not expected and condition != expected:
            raise VerifyException(
                "expected condition type to have the same shape as the result type, expected "
                f"'{expected}', but got '{condition}'"
            )
