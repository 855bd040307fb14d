"""Text that several ``scf`` ops share: result types, initial values, bodies."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.parser import Parser, UnresolvedOperand

from tilewright.dialects.scf.terminators import ensure_yield
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter


def parse_arrow_types(parser: IRParser) -> list[Attribute]:
    """``-> i32`` or ``-> (i32, f32)``, or nothing."""
    if parser.parse_optional_punctuation("->") is None:
        return []
    if parser.next_text != "(":
        return [parser.parse_type()]
    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parser.parse_type)


def parse_assignments(
    parser: IRParser,
) -> list[tuple[Parser.UnresolvedArgument, UnresolvedOperand]]:
    """``(%inner = %outer, ...)``: region arguments and their initial values."""

    def parse_one() -> tuple[Parser.UnresolvedArgument, UnresolvedOperand]:
        argument = parser.parse_argument(expect_type=False)
        parser.parse_punctuation("=")
        return argument, parser.parse_unresolved_operand()

    return parser.parse_comma_separated_list(parser.Delimiter.PAREN, parse_one)


def print_assignments(
    printer: IRPrinter, arguments: Sequence[SSAValue], values: Sequence[SSAValue]
) -> None:
    """``(%inner = %outer, ...)``."""

    def print_one(pair: tuple[SSAValue, SSAValue]) -> None:
        printer.print_operand(pair[0])
        printer.print_string(" = ")
        printer.print_operand(pair[1])

    printer.print_string("(")
    printer.print_list(list(zip(arguments, values, strict=True)), print_one)
    printer.print_string(")")


def parse_body(
    parser: IRParser, start: int, arguments: Sequence[Parser.Argument] | None = None
) -> Region:
    """A region whose empty ``scf.yield`` may be left out; `start` is where its op begins."""
    region = parser.parse_region(arguments)
    ensure_yield(region, parser, start)
    return region


def print_body(printer: IRPrinter, region: Region, *, show_terminator: bool) -> None:
    """A region without the label of its first block."""
    printer.print_region(
        region, print_entry_block_args=False, print_block_terminators=show_terminator
    )


def new_block(types: Sequence[Attribute] = ()) -> Region:
    """A region of one empty block."""
    return Region(Block(arg_types=types))
