"""Structured choices: ``scf.if``, ``scf.index_switch``, and ``scf.execute_region``.

Each runs one of its regions once and takes its results from that region's ``scf.yield``. An ``if``
without results may lack its second region. ``execute_region`` has one region, in which blocks may
jump to each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, IndexType, UnitAttr, i1, i64
from xdsl.ir import Attribute, Operation, Region
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
    var_region_def,
    var_result_def,
)
from xdsl.traits import (
    RecursivelySpeculatable,
    RecursiveMemoryEffect,
    SingleBlockImplicitTerminator,
)
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.elementwise import Operand, value_of
from tilewright.dialects.scf.terminators import YieldOp, ensure_yield
from tilewright.dialects.scf.text import new_block, parse_arrow_types, parse_body, print_body
from tilewright.ir.interfaces import Edge, Point, RegionBranch, enter, exits, leave
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter


class _ChoiceBranch(RegionBranch):
    """Into any region and out again; past the op, if a region is missing."""

    @classmethod
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        if isinstance(point, Region):
            return [leave(end, op, end.operands) for end in exits(point)]
        edges = [enter(op, region) for region in op.regions if region.first_block is not None]
        if len(edges) < len(op.regions):
            edges.append(leave(op, op, ()))
        return edges


def _has_plain_yield(region: Region) -> bool:
    """Whether the terminator of `region` is trivial, so that its text may be left out."""
    last = region.block.last_op
    return last is None or not (last.operands or last.results or last.attributes)


# if


@irdl_op_definition
class IfOp(IRDLOperation):
    name = "scf.if"
    condition = operand_def(i1)
    res = var_result_def()
    then_region = region_def()
    else_region = region_def()

    traits = traits_def(
        RecursiveMemoryEffect(),
        RecursivelySpeculatable(),
        SingleBlockImplicitTerminator(YieldOp),
        _ChoiceBranch(),
    )

    def __init__(
        self,
        condition: Operand,
        result_types: Sequence[Attribute] = (),
        then_region: Region | None = None,
        else_region: Region | None = None,
    ) -> None:
        """A region that is needed but not given gets a block, ended only if it can be."""

        def filled() -> Region:
            region = new_block()
            if not result_types:
                region.block.add_op(YieldOp())
            return region

        if else_region is None:
            else_region = filled() if result_types else Region()
        Operation.__init__(
            self,
            operands=(value_of(condition),),
            result_types=result_types,
            regions=(then_region or filled(), else_region),
        )

    @property
    def has_else(self) -> bool:
        return self.else_region.first_block is not None

    @property
    def then_yield(self) -> YieldOp:
        last = self.then_region.block.last_op
        assert isinstance(last, YieldOp)
        return last

    @property
    def else_yield(self) -> YieldOp:
        last = self.else_region.block.last_op
        assert isinstance(last, YieldOp)
        return last

    def verify_(self) -> None:
        if self.then_region.first_block is None:
            raise VerifyException(
                "region #0 ('thenRegion') failed to verify constraint: region with 1 blocks"
            )
        _check_no_arguments(self.regions)
        if self.results and not self.has_else:
            raise VerifyException("must have an else block if defining values")

    @classmethod
    def parse(cls, parser: Any) -> IfOp:  # xDSL declares its own parser here
        return _parse_if(parser)

    def print(self, printer: Any) -> None:
        _print_if(printer, self)


def _check_no_arguments(regions: Sequence[Region]) -> None:
    for index, region in enumerate(regions):
        if region.first_block is not None and region.first_block.args:
            raise VerifyException(f"region #{index} should have no arguments")


def _parse_if(parser: IRParser) -> IfOp:
    start = parser.pos
    condition = parser.resolve_operand(parser.parse_unresolved_operand(), i1)
    types = parse_arrow_types(parser)
    then_region = parse_body(parser, start)
    has_else = parser.parse_optional_keyword("else") is not None
    else_region = parse_body(parser, start) if has_else else Region()
    return IfOp.create(
        operands=(condition,),
        result_types=types,
        attributes=parser.parse_optional_attr_dict(),
        regions=(then_region, else_region),
    )


def _print_if(printer: IRPrinter, op: IfOp) -> None:
    printer.print_string(" ")
    printer.print_operand(op.condition)
    if op.results:
        printer.print_string(" -> (")
        printer.print_list(op.result_types, printer.print_attribute)
        printer.print_string(")")
    printer.print_string(" ")
    print_body(printer, op.then_region, show_terminator=bool(op.results))
    if op.has_else:
        printer.print_string(" else ")
        print_body(printer, op.else_region, show_terminator=bool(op.results))
    printer.print_op_attributes(op.attributes)


# index_switch


@irdl_op_definition
class IndexSwitchOp(IRDLOperation):
    name = "scf.index_switch"
    argument = operand_def(IndexType())
    cases = prop_def(DenseArrayBase.constr(i64))
    res = var_result_def()
    default_region = region_def()
    case_regions = var_region_def()

    traits = traits_def(
        RecursiveMemoryEffect(), SingleBlockImplicitTerminator(YieldOp), _ChoiceBranch()
    )

    def __init__(
        self,
        argument: Operand,
        cases: Sequence[int],
        result_types: Sequence[Attribute],
        default_region: Region,
        case_regions: Sequence[Region],
    ) -> None:
        Operation.__init__(
            self,
            operands=(value_of(argument),),
            result_types=result_types,
            properties={"cases": DenseArrayBase.from_list(i64, cases)},
            regions=(default_region, *case_regions),
        )

    def verify_(self) -> None:
        for index, region in enumerate(self.regions):
            if region.first_block is None:
                name = "caseRegions" if index else "defaultRegion"
                raise VerifyException(
                    f"region #{index} ('{name}') failed to verify constraint: region with 1 blocks"
                )
        _check_no_arguments(self.regions)
        values = self.cases.get_values()
        if len(values) != len(self.case_regions):
            raise VerifyException(
                f"has {len(self.case_regions)} case regions but {len(values)} case values"
            )
        for index, value in enumerate(values):
            if value in values[:index]:
                raise VerifyException(f"has duplicate case value: {value}")
        self._check_yield(self.default_region, "default region")
        for index, region in enumerate(self.case_regions):
            self._check_yield(region, f"case region #{index}")

    def _check_yield(self, region: Region, name: str) -> None:
        last = region.block.last_op
        if not isinstance(last, YieldOp):
            found = "nothing" if last is None else last.name
            raise VerifyException(f"expected region to end with scf.yield, but got {found}")
        if len(last.operands) != len(self.results):
            raise VerifyException(
                f"expected each region to return {len(self.results)} values, but {name} "
                f"returns {len(last.operands)}"
            )
        for index, (result, operand) in enumerate(
            zip(self.result_types, last.operand_types, strict=True)
        ):
            if result != operand:
                raise VerifyException(f"expected result #{index} of each region to be '{result}'")

    @classmethod
    def parse(cls, parser: Any) -> IndexSwitchOp:  # xDSL declares its own parser here
        return _parse_switch(parser)

    def print(self, printer: Any) -> None:
        _print_switch(printer, self)


def _parse_switch(parser: IRParser) -> IndexSwitchOp:
    start = parser.pos
    argument = parser.resolve_operand(parser.parse_unresolved_operand(), IndexType())
    attributes = parser.parse_optional_attr_dict()
    types: list[Attribute] = []
    if parser.parse_optional_punctuation("->") is not None:
        types = parser.parse_comma_separated_list(parser.Delimiter.NONE, parser.parse_type)
    cases = list(_parse_cases(parser))
    parser.parse_keyword("default")
    default = parser.parse_region()
    ensure_yield(default, parser, start)
    return IndexSwitchOp.create(
        operands=(argument,),
        result_types=types,
        properties={"cases": DenseArrayBase.from_list(i64, [value for value, _ in cases])},
        attributes=attributes,
        regions=(default, *(region for _, region in cases)),
    )


def _parse_cases(parser: IRParser) -> Iterator[tuple[int, Region]]:
    while parser.parse_optional_keyword("case") is not None:
        yield parser.parse_integer(), parser.parse_region()


def _print_switch(printer: IRPrinter, op: IndexSwitchOp) -> None:
    printer.print_string(" ")
    printer.print_operand(op.argument)
    printer.print_op_attributes(op.attributes)
    if op.results:
        printer.print_string(" -> ")
        printer.print_list(op.result_types, printer.print_attribute)
    printer.print_string(" ")
    for value, region in zip(op.cases.get_values(), op.case_regions, strict=True):
        printer.print_new_line()
        printer.print_string(f"case {value} ")
        print_body(printer, region, show_terminator=True)
    printer.print_new_line()
    printer.print_string("default ")
    show_terminator = not _has_plain_yield(op.default_region)
    print_body(printer, op.default_region, show_terminator=show_terminator)


# execute_region


@irdl_op_definition
class ExecuteRegionOp(IRDLOperation):
    name = "scf.execute_region"
    no_inline = opt_prop_def(UnitAttr)
    res = var_result_def()
    region = region_def()

    traits = traits_def(_ChoiceBranch())

    def __init__(
        self, result_types: Sequence[Attribute], region: Region, *, no_inline: bool = False
    ) -> None:
        Operation.__init__(
            self,
            result_types=result_types,
            properties={"no_inline": UnitAttr()} if no_inline else {},
            regions=(region,),
        )

    def verify_(self) -> None:
        if self.region.first_block is None:
            raise VerifyException("region needs to have at least one block")
        if self.region.first_block.args:
            raise VerifyException("region cannot have any arguments")

    @classmethod
    def parse(cls, parser: Any) -> ExecuteRegionOp:  # xDSL declares its own parser here
        return _parse_execute_region(parser)

    def print(self, printer: Any) -> None:
        _print_execute_region(printer, self)


def _parse_execute_region(parser: IRParser) -> ExecuteRegionOp:
    types = parse_arrow_types(parser)
    properties: dict[str, Attribute] = {}
    if parser.parse_optional_keyword("no_inline") is not None:
        properties["no_inline"] = UnitAttr()
    region = parser.parse_region()
    attributes = parser.parse_optional_attr_dict()
    if "no_inline" in attributes:
        properties["no_inline"] = attributes.pop("no_inline")
    return ExecuteRegionOp.create(
        result_types=types, properties=properties, attributes=attributes, regions=(region,)
    )


def _print_execute_region(printer: IRPrinter, op: ExecuteRegionOp) -> None:
    if len(op.results) == 1:
        printer.print_string(" -> ")
        printer.print_attribute(op.results[0].type)
    elif op.results:
        printer.print_string(" -> (")
        printer.print_list(op.result_types, printer.print_attribute)
        printer.print_string(")")
    printer.print_string(" " if op.no_inline is None else " no_inline ")
    print_body(printer, op.region, show_terminator=True)
    printer.print_op_attributes(op.attributes)
