"""Regions of tile ops: bodies that run for every point of a domain and hand nothing on.

``tile.yield`` ends such a body. It carries no values (mutable state lives in memory) and is left
out of the text. Whatever the op, control enters the body, comes back to it, or leaves::

    entry ──▶ body ──▶ body      entry ──▶ results      body ──▶ results
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpTrait, Region
from xdsl.irdl import IRDLOperation, irdl_op_definition, lazy_traits_def
from xdsl.parser import Parser
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tile.mixed import INDEX, MixedLists
from tilewright.ir.interfaces import Edge, Point, RegionBranch, enter, exits, leave
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter


def _yield_traits() -> tuple[OpTrait, ...]:
    from tilewright.dialects.tile.kernel import KernelOp
    from tilewright.dialects.tile.loops import ParallelOp, PersistentOp, PipelineOp
    from tilewright.dialects.tile.warps import WsOp

    parents = HasParent(KernelOp, ParallelOp, PersistentOp, PipelineOp, WsOp)
    return Pure(), IsTerminator(), parents


@irdl_op_definition
class YieldOp(AsmOp):
    """Ends the body of a tile op."""

    name = "tile.yield"

    traits = lazy_traits_def(_yield_traits)
    ASM: ClassVar[str] = "attr-dict"

    def __init__(self) -> None:
        Operation.__init__(self)


class LoopBranch(RegionBranch):
    """A body that runs any number of times; its arguments are set by the op."""

    @classmethod
    @override
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        body = op.regions[0]
        sources = [op] if point is op else exits(body)
        unknown = len(body.blocks[0].args) if body.blocks else 0
        return [
            edge
            for source in sources
            for edge in (enter(source, body, unknown=unknown), leave(source, op, ()))
        ]


class OnceBranch(RegionBranch):
    """Bodies that each run once (for one block, for one role), and hand nothing back."""

    @classmethod
    @override
    def successors(cls, op: Operation, point: Point) -> Sequence[Edge]:
        if point is op:
            entries = [_enter_unknown(op, region) for region in op.regions]
            return [*entries, leave(op, op, ())]
        assert isinstance(point, Region)
        return [leave(end, op, ()) for end in exits(point)]


def _enter_unknown(op: Operation, region: Region) -> Edge:
    return enter(op, region, unknown=len(region.blocks[0].args) if region.blocks else 0)


class BodyOp(MixedLists):
    """Base of ops with one body whose arguments are indices."""

    @property
    def body_block(self) -> Block:
        """The only block of the body."""
        return self.regions[0].block

    @property
    def arguments(self) -> Sequence[BlockArgument]:
        """The indices as the body sees them."""
        return self.regions[0].block.args


def new_body(count: int, body: Region | None) -> Region:
    """`body`, or a body with `count` indices for the caller to fill, ended already."""
    if body is not None:
        return body
    return Region(Block([YieldOp()], arg_types=[INDEX] * count))


def verify_body(region: Region, count: int, what: str) -> None:
    """Raise unless the body has one block with `count` indices."""
    block = region.first_block
    if block is None or block is not region.last_block:
        raise VerifyException("expects a body of one block")
    if len(block.args) != count:
        raise VerifyException(
            f"has {count} {what} but its body has {len(block.args)} index arguments"
        )
    for argument in block.args:
        if not isinstance(argument.type, IndexType):
            raise VerifyException(
                f"argument #{argument.index} of the body must be index, but got '{argument.type}'"
            )


# -- text --------------------------------------------------------------------------------------


def parse_arguments(parser: IRParser) -> list[Parser.Argument]:
    """``(%i, %j)``: indices."""
    found = parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_argument(expect_type=False)
    )
    return [parser.resolve_argument(each, INDEX) for each in found]


def parse_body(
    parser: IRParser, start: int, arguments: Sequence[Parser.Argument] | None = None
) -> Region:
    """A body whose ``tile.yield`` may be left out; `start` is where its op begins."""
    region = parser.parse_region(arguments)
    if region.first_block is None:
        region.add_block(Block())
    block = region.first_block
    last = None if block is None else block.last_op
    if block is not None and (last is None or not last.has_trait(IsTerminator)):
        terminator = YieldOp()
        terminator.location = parser.location_at(start)
        block.add_op(terminator)
    return region


def print_arguments(printer: IRPrinter, arguments: Sequence[BlockArgument]) -> None:
    printer.print_string("(")
    printer.print_list(arguments, printer.print_operand)
    printer.print_string(")")


def print_body(printer: IRPrinter, region: Region) -> None:
    printer.print_region(region, print_entry_block_args=False, print_block_terminators=False)


def parse_integers(parser: IRParser) -> list[int]:
    """``(128, 2)``."""
    return parser.parse_comma_separated_list(
        parser.Delimiter.PAREN, lambda: parser.parse_integer(allow_boolean=False)
    )


def print_integers(printer: IRPrinter, keyword: str, integers: Sequence[int] | None) -> None:
    """`` threads(128, 2)``, or nothing."""
    if integers is not None:
        printer.print_string(f" {keyword}({', '.join(map(str, integers))})")


def parse_attributes(
    parser: IRParser, op: type[IRDLOperation]
) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
    """``attributes {...}``: what of it are properties of `op`, and the rest."""
    found = parser.parse_optional_attr_dict_with_keyword()
    entries: dict[str, Attribute] = {} if found is None else dict(found.data)
    names = op.get_irdl_definition().properties
    properties = {name: value for name, value in entries.items() if name in names}
    return properties, {name: value for name, value in entries.items() if name not in names}


def print_attributes(printer: IRPrinter, op: Operation, shown: Sequence[str]) -> None:
    """All properties but those `shown` elsewhere, and all attributes."""
    hidden: set[Any] = {*shown, "operandSegmentSizes"}
    rest = {name: value for name, value in op.properties.items() if name not in hidden}
    printer.print_op_attributes({**rest, **op.attributes}, print_keyword=True)
