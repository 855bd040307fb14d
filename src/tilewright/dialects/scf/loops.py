"""Structured loops, ``scf.for`` and ``scf.while``, with loop-carried values.

    %r = scf.for %i = %lb to %ub step %s iter_args(%acc = %init) -> (f32)  : i32 { ... }

    entry ──(inits)──▶ body      entry ──(inits)──▶ results        (no iteration)
    yield ──(next)───▶ body      yield ──(next)───▶ results

    %r = scf.while (%x = %init) : (i32) -> f32 { before } do { after }

    entry ──(inits)──▶ before ──(condition's values)──▶ after ──(yield)──▶ before
                              ──(condition's values)──▶ results

The two blanks before ``: i32`` are MLIR's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import IndexType, IntegerAttr, UnitAttr
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    region_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.traits import (
    ConditionallySpeculatable,
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.arith.constant import ConstantOp
from tilewright.dialects.elementwise import Operand, is_signless_integer, value_of
from tilewright.dialects.scf.terminators import ConditionOp, YieldOp
from tilewright.dialects.scf.text import (
    new_block,
    parse_arrow_types,
    parse_assignments,
    parse_body,
    print_assignments,
    print_body,
)
from tilewright.ir.constraints import Satisfies
from tilewright.ir.interfaces import Edge, Point, RegionBranch, enter, exits, leave
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

INTEGER_OR_INDEX = Satisfies(
    "signless integer or index",
    lambda type: isinstance(type, IndexType) or is_signless_integer(type),
)


class _ForBranch(RegionBranch):
    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        body = op.regions[0]
        if point is op:
            inits = op.operands[3:]
            return enter(op, body, inits, unknown=1), leave(op, op, inits)
        return [
            edge
            for end in exits(body)
            for edge in (enter(end, body, end.operands, unknown=1), leave(end, op, end.operands))
        ]


class _ForSpeculation(ConditionallySpeculatable):
    """A loop with step 1 has a finite trip count; with another step it may not."""

    @classmethod
    def is_speculatable(cls, op: Operation) -> bool:
        step = op.operands[2]
        if not isinstance(step, OpResult) or not isinstance(step.op, ConstantOp):
            return False
        value = step.op.value
        is_one = isinstance(value, IntegerAttr) and value.value.data == 1
        return is_one and RecursivelySpeculatable.is_speculatable(op)


@irdl_op_definition
class ForOp(IRDLOperation):
    name = "scf.for"
    lower_bound = operand_def(INTEGER_OR_INDEX)
    upper_bound = operand_def(INTEGER_OR_INDEX)
    step = operand_def(INTEGER_OR_INDEX)
    init_args = var_operand_def()
    unsigned = opt_prop_def(UnitAttr, prop_name="unsignedCmp")
    """Present if the bounds are compared as unsigned numbers."""
    res = var_result_def()
    body = region_def()

    traits = traits_def(
        RecursiveMemoryEffect(),
        _ForSpeculation(),
        SingleBlockImplicitTerminator(YieldOp),
        _ForBranch(),
    )

    def __init__(
        self,
        lower_bound: Operand,
        upper_bound: Operand,
        step: Operand,
        init_args: Sequence[Operand] = (),
        body: Region | None = None,
        *,
        unsigned: bool = False,
    ) -> None:
        """Without `body` the loop gets a block with its arguments, ended only if it can be."""
        lower_bound = value_of(lower_bound)
        inits = [value_of(init) for init in init_args]
        carried = [init.type for init in inits]
        if body is None:
            body = new_block((lower_bound.type, *carried))
            if not inits:
                body.block.add_op(YieldOp())
        Operation.__init__(
            self,
            operands=(lower_bound, value_of(upper_bound), value_of(step), *inits),
            result_types=carried,
            properties={"unsignedCmp": UnitAttr()} if unsigned else {},
            regions=(body,),
        )

    @property
    def body_block(self) -> Block:
        """The only block of the body."""
        return self.body.block

    @property
    def induction_variable(self) -> BlockArgument:
        return self.body.block.args[0]

    @property
    def iter_args(self) -> Sequence[BlockArgument]:
        """The carried values as the body sees them."""
        return self.body.block.args[1:]

    @property
    def yield_op(self) -> YieldOp:
        last = self.body.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_type_rules(self) -> None:
        lower, upper, step = self.operand_types[:3]
        if lower != upper or lower != step:
            raise VerifyException(
                "failed to verify that all of {lowerBound, upperBound, step} have same type"
            )

    def verify_(self) -> None:
        block = self.body.first_block
        if block is None:
            raise VerifyException(
                "region #0 ('region') failed to verify constraint: region with 1 blocks"
            )
        inits, results, arguments = len(self.init_args), len(self.results), len(block.args)
        if inits != results:
            raise VerifyException("mismatch in number of loop-carried values and defined values")
        if not arguments:
            raise VerifyException(
                "expected body to have at least 1 argument(s) for the induction variable, but got 0"
            )
        if inits != arguments - 1:
            raise VerifyException(
                f"different number of inits and region iter_args: {inits} != {arguments - 1}"
            )
        yielded = 0 if block.last_op is None else len(block.last_op.operands)
        if yielded and yielded != arguments - 1:
            raise VerifyException(
                "different number of region iter_args and yielded values: "
                f"{arguments - 1} != {yielded}"
            )
        if block.args[0].type != self.lower_bound.type:
            raise VerifyException("expected induction variable to be same type as bounds and step")

    @classmethod
    def parse(cls, parser: Any) -> ForOp:  # xDSL declares its own parser here
        return _parse_for(parser)

    def print(self, printer: Any) -> None:
        _print_for(printer, self)


def _parse_for(parser: IRParser) -> ForOp:
    start = parser.pos
    properties: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("unsigned") is not None:
        properties["unsignedCmp"] = UnitAttr()
    induction = parser.parse_argument(expect_type=False)
    parser.parse_punctuation("=")
    bounds = [parser.parse_unresolved_operand()]
    for keyword in ("to", "step"):
        parser.parse_keyword(keyword)
        bounds.append(parser.parse_unresolved_operand())
    carried = parse_assignments(parser) if parser.parse_optional_keyword("iter_args") else []
    types = parse_arrow_types(parser)
    if len(carried) != len(types):
        parser.raise_error("mismatch in number of loop-carried values and defined values", start)
    has_type = parser.parse_optional_punctuation(":") is not None
    type = parser.parse_type() if has_type else IndexType()
    operands: list[SSAValue] = [parser.resolve_operand(bound, type) for bound in bounds]
    arguments = [parser.resolve_argument(induction, type)]
    for (argument, init), carried_type in zip(carried, types, strict=True):
        operands.append(parser.resolve_operand(init, carried_type))
        arguments.append(parser.resolve_argument(argument, carried_type))
    body = parse_body(parser, start, arguments)
    attributes = parser.parse_optional_attr_dict()
    if "unsignedCmp" in attributes:
        properties["unsignedCmp"] = attributes.pop("unsignedCmp")
    return ForOp.create(
        operands=operands,
        result_types=types,
        properties=properties,
        attributes=attributes,
        regions=(body,),
    )


def _print_for(printer: IRPrinter, op: ForOp) -> None:
    printer.print_string(" unsigned " if op.unsigned is not None else " ")
    printer.print_operand(op.induction_variable)
    for separator, value in (
        (" = ", op.lower_bound),
        (" to ", op.upper_bound),
        (" step ", op.step),
    ):
        printer.print_string(separator)
        printer.print_operand(value)
    if op.init_args:
        printer.print_string(" iter_args")
        print_assignments(printer, op.iter_args, op.init_args)
        printer.print_string(" -> (")
        printer.print_list(op.result_types, printer.print_attribute)
        printer.print_string(")")
    printer.print_string(" ")
    if not isinstance(op.induction_variable.type, IndexType):
        printer.print_string(" : ")
        printer.print_attribute(op.induction_variable.type)
        printer.print_string(" ")
    print_body(printer, op.body, show_terminator=bool(op.init_args))
    printer.print_op_attributes(op.attributes)


class _WhileBranch(RegionBranch):
    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        before, after = op.regions
        if point is op:
            return (enter(op, before, op.operands),)
        if point is after:
            return [enter(end, before, end.operands) for end in exits(after)]
        return [
            edge
            for end in exits(before)
            for edge in (
                leave(end, op, end.operands[1:]),
                enter(end, after, end.operands[1:]),
            )
        ]


@irdl_op_definition
class WhileOp(IRDLOperation):
    name = "scf.while"
    inits = var_operand_def()
    res = var_result_def()
    before_region = region_def()
    after_region = region_def()

    traits = traits_def(RecursiveMemoryEffect(), _WhileBranch())

    def __init__(
        self,
        inits: Sequence[Operand],
        result_types: Sequence[Attribute],
        before_region: Region | None = None,
        after_region: Region | None = None,
    ) -> None:
        """A region not given gets a block with its arguments, for the caller to fill and end."""
        operands = [value_of(init) for init in inits]
        if before_region is None:
            before_region = new_block([operand.type for operand in operands])
        Operation.__init__(
            self,
            operands=operands,
            result_types=result_types,
            regions=(before_region, after_region or new_block(result_types)),
        )

    @property
    def condition_op(self) -> ConditionOp:
        last = self.before_region.block.last_op
        assert isinstance(last, ConditionOp)
        return last

    @property
    def yield_op(self) -> YieldOp:
        last = self.after_region.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_(self) -> None:
        for index, (name, region) in enumerate(
            (("before", self.before_region), ("after", self.after_region))
        ):
            if region.first_block is None or region.first_block is not region.last_block:
                raise VerifyException(
                    f"region #{index} ('{name}') failed to verify constraint: region with 1 blocks"
                )
        if not isinstance(self.before_region.block.last_op, ConditionOp):
            raise VerifyException("expects the 'before' region to terminate with 'scf.condition'")
        if not isinstance(self.after_region.block.last_op, YieldOp):
            raise VerifyException("expects the 'after' region to terminate with 'scf.yield'")

    @classmethod
    def parse(cls, parser: Any) -> WhileOp:  # xDSL declares its own parser here
        return _parse_while(parser)

    def print(self, printer: Any) -> None:
        _print_while(printer, self)


def _parse_while(parser: IRParser) -> WhileOp:
    assigned = parse_assignments(parser) if parser.next_text == "(" else []
    parser.parse_punctuation(":")
    types_at = parser.pos
    signature = parser.parse_function_type()
    inputs = signature.inputs.data
    if len(inputs) != len(assigned):
        parser.raise_error(
            f"expected as many input types as operands (expected {len(assigned)} "
            f"got {len(inputs)})",
            types_at,
        )
    operands: list[SSAValue] = []
    arguments: list[Parser.Argument] = []
    for (argument, init), type in zip(assigned, inputs, strict=True):
        operands.append(parser.resolve_operand(init, type))
        arguments.append(parser.resolve_argument(argument, type))
    before = parser.parse_region(arguments)
    parser.parse_keyword("do")
    after = parser.parse_region()
    attributes = parser.parse_optional_attr_dict_with_keyword()
    return WhileOp.create(
        operands=operands,
        result_types=signature.outputs.data,
        attributes={} if attributes is None else attributes.data,
        regions=(before, after),
    )


def _print_while(printer: IRPrinter, op: WhileOp) -> None:
    printer.print_string(" ")
    if op.inits:
        print_assignments(printer, op.before_region.block.args, op.inits)
        printer.print_string(" ")
    printer.print_string(": ")
    printer.print_function_type(op.operand_types, op.result_types)
    printer.print_string(" ")
    print_body(printer, op.before_region, show_terminator=True)
    printer.print_string(" do ")
    printer.print_region(op.after_region)
    printer.print_op_attributes(op.attributes, print_keyword=True)
