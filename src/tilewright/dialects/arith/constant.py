"""``arith.constant``: an integer, a float, or a dense vector or tensor of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, TypeAlias

from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    Signedness,
    TensorType,
    VectorType,
    i1,
)
from xdsl.ir import Attribute, Operation, TypedAttribute
from xdsl.irdl import irdl_op_definition, prop_def, result_def, traits_def
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.type_utils import num_elements
from tilewright.ir.interfaces import FoldBy
from tilewright.ir.text.assembly import AsmOp, Directive
from tilewright.ir.text.elements import ParseState
from tilewright.ir.text.literals import SplatElementsAttr, scalar_attribute
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

ConstantValue: TypeAlias = (
    IntegerAttr | FloatAttr | SplatElementsAttr | DenseIntOrFPElementsAttr | DenseResourceAttr
)
"""What the value of a verified constant can be."""


def integers_in(value: Attribute | None) -> Sequence[int] | None:
    """The integers that a constant holds, in order; ``None`` if it holds anything else."""
    match value:
        case IntegerAttr(value=integer):
            return (integer.data,)
        case SplatElementsAttr(value=IntegerAttr(value=integer), type=type):
            return (integer.data,) * num_elements(type)
        case DenseIntOrFPElementsAttr():
            values = value.get_values()
            integers = [each for each in values if isinstance(each, int)]
            return integers if len(integers) == len(values) else None
        case _:
            return None


def _type_of(value: Attribute) -> Attribute | None:
    if isinstance(value, SplatElementsAttr):
        return value.type
    return value.get_type() if isinstance(value, TypedAttribute) else None


def _parse_value(parser: IRParser, state: ParseState) -> None:
    start = parser.pos
    value = parser.parse_attribute()
    type = _type_of(value)
    if type is None:
        parser.raise_error("invalid kind of attribute specified", start)
    state.properties["value"] = value
    state.types["result"] = (type,)


def _print_value(printer: IRPrinter, op: ConstantOp) -> None:
    printer.print_attribute(op.value)


@irdl_op_definition
class ConstantOp(AsmOp):
    name = "arith.constant"
    value = prop_def(Attribute)
    result = result_def()

    traits = traits_def(Pure(), ConstantLike(), FoldBy(lambda op, _: [op.properties["value"]]))
    ASM: ClassVar[str] = "attr-dict custom<Value>($value)"
    DIRECTIVES: ClassVar[Mapping[str, Directive]] = {"Value": Directive(_parse_value, _print_value)}

    def __init__(self, value: ConstantValue) -> None:
        type = _type_of(value)
        assert type is not None
        Operation.__init__(self, result_types=(type,), properties={"value": value})

    @classmethod
    def of(cls, value: int | float | bool, type: Attribute) -> ConstantOp:
        """`value` as a constant of a scalar type, or in every element of a container type."""
        if isinstance(type, (TensorType, VectorType)):
            return cls(SplatElementsAttr.get(value, type))
        return cls(scalar_attribute(value, type))

    def asm_result_names(self) -> list[str]:
        value = self.value
        if not isinstance(value, IntegerAttr):
            return ["cst"]
        integer, type = value.value.data, value.type
        if type == i1:
            return ["true" if integer else "false"]
        return [f"c{integer}_{type}" if isinstance(type, IntegerType) else f"c{integer}"]

    def verify_(self) -> None:
        value, type = self.value, self.result.type
        if isinstance(type, IntegerType) and type.signedness.data is not Signedness.SIGNLESS:
            raise VerifyException("integer return type must be signless")
        if not isinstance(value, ConstantValue):
            raise VerifyException("value must be an integer, float, or elements attribute")
        if _type_of(value) != type:
            raise VerifyException("failed to verify that all of {value, result} have same type")
        if isinstance(type, VectorType) and type.get_num_scalable_dims():
            self._check_scalable(value)

    def _check_scalable(self, value: ConstantValue) -> None:
        if not isinstance(value, SplatElementsAttr):
            raise VerifyException(
                "initializing scalable vectors with elements attribute is not supported unless "
                "it's a vector splat"
            )
