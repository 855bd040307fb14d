"""The ``cf`` dialect: jumps between blocks, and assertions.

Values travel with a jump into the arguments of the block it goes to::

    cf.cond_br %c weights([1, 9]), ^bb1, ^bb2(%x : f32)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntegerAttr,
    IntegerType,
    StringAttr,
    VectorType,
    i1,
    i32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    successor_def,
    traits_def,
    var_operand_def,
    var_successor_def,
)
from xdsl.traits import IsTerminator, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.arith.constant import integers_in
from tilewright.dialects.elementwise import Operand, value_of
from tilewright.dialects.members import dialect_of
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.constraints import instance_of
from tilewright.ir.interfaces import BranchLike
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.literals import SplatElementsAttr
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter
from tilewright.ir.text.syntax import INT32_ARRAY, STRING, AttributeSyntax


def _sizes(*segments: Sequence[SSAValue]) -> DenseArrayBase[IntegerType]:
    return DenseArrayBase.from_list(i32, [len(segment) for segment in segments])


# assert


@irdl_op_definition
class AssertOp(AsmOp):
    """Stops the program with a message unless its operand is true."""

    name = "cf.assert"
    condition = operand_def(i1)
    message = prop_def(StringAttr, prop_name="msg")

    traits = traits_def(MemoryWriteEffect())
    ASM: ClassVar[str] = "$condition `,` $msg attr-dict"
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"msg": STRING}

    def __init__(self, condition: Operand, message: str) -> None:
        Operation.__init__(
            self, operands=(value_of(condition),), properties={"msg": StringAttr(message)}
        )


# br


class _BranchOperands(BranchLike):
    @classmethod
    def successor_operands(cls, op: Operation, index: int) -> Sequence[SSAValue]:
        return op.operands


@irdl_op_definition
class BranchOp(AsmOp):
    name = "cf.br"
    arguments = var_operand_def()
    target = successor_def()

    traits = traits_def(Pure(), IsTerminator(), _BranchOperands())
    ASM: ClassVar[str] = "$target (`(` $arguments^ `:` type($arguments) `)`)? attr-dict"

    def __init__(self, target: Block, arguments: Sequence[Operand] = ()) -> None:
        operands = [value_of(argument) for argument in arguments]
        Operation.__init__(self, operands=operands, successors=(target,))


# cond_br


class _ConditionalOperands(BranchLike):
    @classmethod
    def successor_operands(cls, op: Operation, index: int) -> Sequence[SSAValue]:
        assert isinstance(op, CondBranchOp)
        return op.false_arguments if index else op.true_arguments


@irdl_op_definition
class CondBranchOp(AsmOp):
    name = "cf.cond_br"
    condition = operand_def(i1)
    true_arguments = var_operand_def()
    false_arguments = var_operand_def()
    branch_weights = opt_prop_def(DenseArrayBase.constr(i32))
    true_target = successor_def()
    false_target = successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), IsTerminator(), _ConditionalOperands())
    ASM: ClassVar[str] = (
        "$condition (`weights` `(` $branch_weights^ `)`)? `,` "
        "$true_target (`(` $true_arguments^ `:` type($true_arguments) `)`)? `,` "
        "$false_target (`(` $false_arguments^ `:` type($false_arguments) `)`)? attr-dict"
    )
    SYNTAX: ClassVar[Mapping[str, AttributeSyntax]] = {"branch_weights": INT32_ARRAY}

    def __init__(
        self,
        condition: Operand,
        true_target: Block,
        true_arguments: Sequence[Operand],
        false_target: Block,
        false_arguments: Sequence[Operand],
    ) -> None:
        condition = value_of(condition)
        on_true = [value_of(argument) for argument in true_arguments]
        on_false = [value_of(argument) for argument in false_arguments]
        sizes = _sizes((condition,), on_true, on_false)
        Operation.__init__(
            self,
            operands=(condition, *on_true, *on_false),
            properties={"operandSegmentSizes": sizes},
            successors=(true_target, false_target),
        )

    def verify_(self) -> None:
        weights = self.branch_weights
        if weights is not None and len(weights) != len(self.successors):
            raise VerifyException(
                "expects number of branch weights to match number of successors: "
                f"{len(weights)} vs {len(self.successors)}"
            )


# switch


class _SwitchOperands(BranchLike):
    @classmethod
    def successor_operands(cls, op: Operation, index: int) -> Sequence[SSAValue]:
        assert isinstance(op, SwitchOp)
        return op.arguments_of_case(index - 1) if index else op.default_arguments


@irdl_op_definition
class SwitchOp(IRDLOperation):
    """Jumps to the block of the case that equals `flag`, or to the default."""

    name = "cf.switch"
    flag = operand_def(instance_of("integer", IntegerType))
    default_arguments = var_operand_def()
    case_arguments = var_operand_def()
    case_values = opt_prop_def(Attribute)
    """``dense<...> : vector<nxi32>``; absent when there is no case."""
    case_sizes = prop_def(DenseArrayBase.constr(i32), prop_name="case_operand_segments")
    default_target = successor_def()
    case_targets = var_successor_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(Pure(), IsTerminator(), _SwitchOperands())

    def __init__(
        self,
        flag: Operand,
        default: tuple[Block, Sequence[Operand]],
        cases: Sequence[tuple[int, Block, Sequence[Operand]]] = (),
    ) -> None:
        """A case is a value, the block to jump to, and the operands to forward."""
        flag = value_of(flag)
        fallback = [value_of(argument) for argument in default[1]]
        passed = [[value_of(argument) for argument in case[2]] for case in cases]
        flat = [argument for arguments in passed for argument in arguments]
        properties: dict[str, Attribute] = {
            "operandSegmentSizes": _sizes((flag,), fallback, flat),
            "case_operand_segments": _sizes(*passed),
        }
        if cases:
            values = [case[0] for case in cases]
            assert isinstance(flag.type, IntegerType)
            properties["case_values"] = _case_values(values, flag.type)
        Operation.__init__(
            self,
            operands=(flag, *fallback, *flat),
            properties=properties,
            successors=(default[0], *(case[1] for case in cases)),
        )

    @property
    def cases(self) -> Sequence[int]:
        """The values of the cases, as signed numbers."""
        return integers_in(self.case_values) or ()

    def arguments_of_case(self, index: int) -> Sequence[SSAValue]:
        """What case number `index` hands to its block."""
        sizes = self.case_sizes.get_values()
        start = sum(sizes[:index])
        return self.case_arguments[start : start + sizes[index]]

    def verify_(self) -> None:
        values = self.case_values
        if values is None and not self.case_targets:
            return
        if not isinstance(values, (SplatElementsAttr, DenseIntOrFPElementsAttr)):
            raise VerifyException("requires attribute 'case_values' for its case destinations")
        element = element_type_of(values.type)
        if element != self.flag.type:
            raise VerifyException(
                f"'flag' type ('{self.flag.type}') should match case value type ('{element}')"
            )
        if len(self.cases) != len(self.case_targets):
            raise VerifyException(
                f"number of case values ({len(self.cases)}) should match number of case "
                f"destinations ({len(self.case_targets)})"
            )

    @classmethod
    def parse(cls, parser: Any) -> SwitchOp:  # xDSL declares its own parser here
        return _parse_switch(parser)

    def print(self, printer: Any) -> None:
        _print_switch(printer, self)


def _case_values(values: Sequence[int], type: IntegerType) -> Attribute:
    vector = VectorType(type, [len(values)])
    wrapped = [IntegerAttr(value, type).value.data for value in values]
    if len(set(wrapped)) == 1:
        return SplatElementsAttr.get(wrapped[0], vector)
    return DenseIntOrFPElementsAttr.from_list(vector, wrapped)


def _parse_target(parser: IRParser) -> tuple[Block, list[SSAValue]]:
    """``^block`` or ``^block(%a, %b : i32, f32)``."""
    block = parser.parse_successor()
    if parser.parse_optional_punctuation("(") is None:
        return block, []
    names = parser.parse_comma_separated_list(
        parser.Delimiter.NONE, parser.parse_unresolved_operand
    )
    parser.parse_punctuation(":")
    types_at = parser.pos
    types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    arguments = parser.resolve_operands(names, types, types_at)
    parser.parse_punctuation(")")
    return block, list(arguments)


def _parse_cases(parser: IRParser) -> Iterator[tuple[int, Block, Sequence[SSAValue]]]:
    while parser.parse_optional_punctuation(",") is not None:
        value = parser.parse_integer()
        parser.parse_punctuation(":")
        yield value, *_parse_target(parser)


def _parse_switch(parser: IRParser) -> SwitchOp:
    name = parser.parse_unresolved_operand()
    parser.parse_punctuation(":")
    types_at = parser.pos
    type = parser.parse_type()
    if not isinstance(type, IntegerType):
        parser.raise_error(f"expected an integer type, but found '{type}'", types_at)
    flag = parser.resolve_operand(name, type)
    parser.parse_punctuation(",")
    parser.parse_punctuation("[")
    parser.parse_keyword("default")
    parser.parse_punctuation(":")
    default = _parse_target(parser)
    op = SwitchOp(flag, default, list(_parse_cases(parser)))
    parser.parse_punctuation("]")
    op.attributes.update(parser.parse_optional_attr_dict())
    return op


def _print_target(printer: IRPrinter, block: Block, arguments: Sequence[SSAValue]) -> None:
    printer.print_block_name(block)
    if arguments:
        printer.print_string("(")
        printer.print_list(arguments, printer.print_operand)
        printer.print_string(" : ")
        printer.print_list([value.type for value in arguments], printer.print_attribute)
        printer.print_string(")")


def _print_switch(printer: IRPrinter, op: SwitchOp) -> None:
    printer.print_string(" ")
    printer.print_operand(op.flag)
    printer.print_string(" : ")
    printer.print_attribute(op.flag.type)
    printer.print_string(", [")
    printer.print_new_line()
    printer.print_string("  default: ")
    _print_target(printer, op.default_target, op.default_arguments)
    for index, value in enumerate(op.cases):
        printer.print_string(",")
        printer.print_new_line()
        # MLIR prints -1 : i8 as 255, which its own parser then takes for too large a number.
        printer.print_string(f"  {value}: ")
        _print_target(printer, op.case_targets[index], op.arguments_of_case(index))
    if op.cases:
        printer.print_new_line()
    printer.print_string("]")
    printer.print_op_attributes(op.attributes)


Cf = dialect_of("cf", globals())
