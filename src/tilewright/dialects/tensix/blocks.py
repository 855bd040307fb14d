"""Ops on whole blocks of tiles, between tensorisation and the intrinsics of a core.

    tensix.elementwise tiles(2, 4) ins(%x tile : T, %s col : T) outs(%y : T) {
    ^bb0(%i : index, %j : index, %a : bf16, %b : f32):
      ...
      tensix.yield %r : f32
    }
    tensix.constant_tile %mask columns_below bits(1065353216) limit %n : T
    tensix.release %x : T
    tensix.shard_tile %x at %page : T

`tensix.elementwise` computes every element of its outputs from the elements of its inputs at the
same position: the body is the function of one element, `%i` and `%j` its row and column in the
block. An input is a whole block (``tile``), its first column (``col``), its first row (``row``) or
its first element (``scalar``), repeated. `tensix.release` ends the life of a buffer's contents; an
op releases the operands that its attribute `tt.release` lists by itself. `tensix.shard_tile` states
where in its shard a tensor's block is that ops use in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, StringAttr, i32
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpTrait, Region, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    lazy_traits_def,
    operand_def,
    opt_operand_def,
    prop_def,
    region_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import HasParent, IsTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.tensix.buffers import PATTERNS
from tilewright.dialects.tile.access import (
    AccessedRegion,
    RegionAccess,
    RegionEffects,
    TileOp,
    region_of,
)
from tilewright.dialects.tile.base import (
    Operand,
    given,
    integer_attr,
    integer_prop,
    keyword_prop,
    string,
)
from tilewright.dialects.tile.bodies import parse_attributes, parse_integers, print_attributes
from tilewright.dialects.tile.mixed import INDEX, Integers, integers, integers_attr, integers_prop
from tilewright.dialects.tile.types import BUFFER
from tilewright.dialects.type_utils import element_type_of
from tilewright.ir.text.assembly import AsmOp
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter

RELEASE = "tt.release"
KINDS = ("tile", "col", "row", "scalar")


@irdl_op_definition
class TileYieldOp(AsmOp):
    """The elements that the body of an element-wise op gives its outputs."""

    name = "tensix.yield"
    values = var_operand_def()

    traits = lazy_traits_def(lambda: _yield_traits())
    ASM: ClassVar[str] = "$values `:` type($values) attr-dict"

    def __init__(self, values: Sequence[Operand]) -> None:
        super().__init__(operands=[values])


def _yield_traits() -> tuple[OpTrait, ...]:
    return Pure(), IsTerminator(), HasParent(ElementwiseOp)


@irdl_op_definition
class ElementwiseOp(IRDLOperation, RegionAccess):
    """Computes the elements of its outputs from those of its inputs, position by position."""

    name = "tensix.elementwise"

    inputs = var_operand_def(BUFFER)
    outputs = var_operand_def(BUFFER)
    tiles = integers_prop()
    kind_names = prop_def(ArrayAttr)
    body = region_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(RegionEffects())

    def __init__(
        self,
        tiles: tuple[int, int],
        inputs: Sequence[Operand],
        kinds: Sequence[str],
        outputs: Sequence[Operand],
        body: Region | None = None,
        *,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """Without a `body` the op gets one with its arguments, for the caller to fill and end."""
        values = [SSAValue.get(each) for each in inputs]
        types = [INDEX, INDEX, *(element_type_of(each.type) for each in values)]
        super().__init__(
            operands=[values, [SSAValue.get(each) for each in outputs]],
            properties={
                "tiles": integers_attr(tiles),
                "kind_names": ArrayAttr([StringAttr(each) for each in kinds]),
            },
            attributes=dict(attributes or {}),
            regions=[Region(Block(arg_types=types)) if body is None else body],
        )

    @property
    def block_tiles(self) -> tuple[int, int]:
        """Rows and columns of the block, in tiles."""
        rows, columns = integers(self.tiles)
        return rows, columns

    @property
    def kinds(self) -> tuple[str, ...]:
        """How each input is repeated."""
        names = cast("ArrayAttr[StringAttr]", self.kind_names)
        return tuple(each.data for each in names.data)

    @property
    def indices(self) -> tuple[BlockArgument, BlockArgument]:
        """The row and the column of an element in the block."""
        row, column = self.body.block.args[:2]
        return row, column

    @property
    def elements(self) -> Sequence[BlockArgument]:
        """The elements of the inputs."""
        return self.body.block.args[2:]

    @property
    def results_of_body(self) -> Sequence[SSAValue]:
        """The elements of the outputs."""
        last = self.body.block.last_op
        assert isinstance(last, TileYieldOp)
        return last.values

    @override
    def reads(self) -> list[AccessedRegion]:
        return [region_of(each) for each in self.inputs]

    @override
    def writes(self) -> list[AccessedRegion]:
        return [region_of(each) for each in self.outputs]

    @override
    def is_async(self) -> bool:
        return False

    @override
    def verify_(self) -> None:
        extents = integers(self.tiles)
        if len(extents) != 2 or min(extents) < 1:
            raise VerifyException(
                f"tiles must be two positive extents: rows, columns; got {list(extents)}"
            )
        if len(self.kinds) != len(self.inputs) or any(each not in KINDS for each in self.kinds):
            raise VerifyException(f"expects one of {', '.join(KINDS)} for each input")
        types = [INDEX, INDEX, *(element_type_of(each.type) for each in self.inputs)]
        if [each.type for each in self.body.block.args] != types:
            raise VerifyException(
                "the body takes two indices and one element of each input, of its element type"
            )
        last = self.body.block.last_op
        if not isinstance(last, TileYieldOp) or len(last.values) != len(self.outputs):
            raise VerifyException("the body ends with tensix.yield of one element per output")

    @classmethod
    @override
    def parse(cls, parser: Any) -> ElementwiseOp:
        return _parse(parser)

    @override
    def print(self, printer: Any) -> None:
        _print(printer, self)


def _parse(parser: IRParser) -> ElementwiseOp:
    parser.parse_keyword("tiles")
    tiles = integers_attr(parse_integers(parser))
    kinds: list[Attribute] = []

    def one_input() -> SSAValue:
        name = parser.parse_unresolved_operand()
        kinds.append(StringAttr(parser.parse_identifier(" for the kind of an input")))
        parser.parse_punctuation(":")
        return parser.resolve_operand(name, parser.parse_type())

    def one_output() -> SSAValue:
        name = parser.parse_unresolved_operand()
        parser.parse_punctuation(":")
        return parser.resolve_operand(name, parser.parse_type())

    parser.parse_keyword("ins")
    inputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, one_input)
    parser.parse_keyword("outs")
    outputs = parser.parse_comma_separated_list(parser.Delimiter.PAREN, one_output)
    more, attributes = parse_attributes(parser, ElementwiseOp)
    return ElementwiseOp.create(
        operands=[*inputs, *outputs],
        properties={
            "tiles": tiles,
            "kind_names": ArrayAttr(kinds),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [len(inputs), len(outputs)]),
            **more,
        },
        attributes=attributes,
        regions=[parser.parse_region()],
    )


def _print(printer: IRPrinter, op: ElementwiseOp) -> None:
    printer.print_string(f" tiles({', '.join(map(str, integers(op.tiles)))}) ins(")

    def one_input(pair: tuple[SSAValue, str]) -> None:
        printer.print_operand(pair[0])
        printer.print_string(f" {pair[1]} : ")
        printer.print_attribute(pair[0].type)

    def one_output(value: SSAValue) -> None:
        printer.print_operand(value)
        printer.print_string(" : ")
        printer.print_attribute(value.type)

    printer.print_list(list(zip(op.inputs, op.kinds, strict=True)), one_input)
    printer.print_string(") outs(")
    printer.print_list(op.outputs, one_output)
    printer.print_string(")")
    print_attributes(printer, op, ("tiles", "kind_names"))
    printer.print_string(" ")
    printer.print_region(op.body)


@irdl_op_definition
class ConstantTileOp(TileOp):
    """Fills a buffer with known contents, see ``tensix.fill_page``.

    Rows, columns and `limit` count from the first element of the buffer, over all of its tiles.
    """

    name = "tensix.constant_tile"

    dst = operand_def(BUFFER)
    limit = opt_operand_def(INDEX)
    pattern = keyword_prop(PATTERNS)
    bits = integer_prop()
    """The fp32 bit pattern of the value."""

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = (
        "$dst $pattern `bits` `(` $bits `)` (`limit` $limit^)? attr-dict `:` type($dst)"
    )
    WRITES: ClassVar[tuple[str, ...]] = ("dst",)

    def __init__(self, dst: Operand, pattern: str, bits: int, limit: Operand | None = None) -> None:
        super().__init__(
            operands=[dst, limit],
            properties=given(pattern=string(pattern), bits=integer_attr(bits)),
        )


@irdl_op_definition
class ReleaseOp(TileOp):
    """The contents of a buffer are not read any more."""

    name = "tensix.release"

    buffer = operand_def(BUFFER)

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = "$buffer attr-dict `:` type($buffer)"
    READS: ClassVar[tuple[str, ...]] = ("buffer",)
    WRITES: ClassVar[tuple[str, ...]] = ("buffer",)

    def __init__(self, buffer: Operand) -> None:
        super().__init__(operands=[buffer])


@irdl_op_definition
class ShardTileOp(TileOp):
    """The contents of a buffer are in a shard from now on: its first tile is page `index` of it."""

    name = "tensix.shard_tile"

    buffer = operand_def(BUFFER)
    index = operand_def(INDEX)

    traits = traits_def(RegionEffects())
    ASM: ClassVar[str] = "$buffer `at` $index attr-dict `:` type($buffer)"
    WRITES: ClassVar[tuple[str, ...]] = ("buffer",)

    def __init__(self, buffer: Operand, index: Operand) -> None:
        super().__init__(operands=[buffer, index])


def released(op: Operation) -> tuple[SSAValue, ...]:
    """The buffers whose contents end with `op`."""
    if isinstance(op, ReleaseOp):
        return (op.buffer,)
    found = op.attributes.get(RELEASE)
    if found is None:
        return ()
    return tuple(op.operands[position] for position in integers(cast("Integers", found)))


def set_released(op: Operation, buffers: Sequence[SSAValue]) -> None:
    """Let `op` release these operands."""
    positions = [n for n, operand in enumerate(op.operands) if operand in buffers]
    if positions:
        op.attributes[RELEASE] = integers_attr(positions)
