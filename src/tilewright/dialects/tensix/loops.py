"""``tensix.matmul_k_loop``: an accumulating GEMM over K, before kernels are split.

    tensix.matmul_k_loop %k = %c0 to %kt step %c1 inputs(%As, %Bs) acc(%C)
        tiles(4, 4, 1) attributes {transpose_b} : memref<...>, memref<...>, memref<...> {
      tile.copy ...                      // loads of the operands of this step
    }

Every iteration runs the body and then adds the GEMM of the two inputs to the accumulator, all
of them buffers of whole tiles. ``clear`` zeroes the accumulator before the first iteration.
`tiles` is the block in tiles: rows and columns of the accumulator, depth of a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import override
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, region_def, traits_def
from xdsl.traits import RecursiveMemoryEffect, SingleBlockImplicitTerminator
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects.elementwise import value_of
from tilewright.dialects.tensix.program import EndOp, new_body, parse_body
from tilewright.dialects.tile.base import Operand, given, mark, mark_prop
from tilewright.dialects.tile.bodies import (
    LoopBranch,
    parse_attributes,
    parse_integers,
    print_attributes,
    print_body,
    print_integers,
    verify_body,
)
from tilewright.dialects.tile.mixed import INDEX, integers, integers_attr, integers_prop
from tilewright.dialects.tile.types import BUFFER
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import IRPrinter


@irdl_op_definition
class MatmulKLoopOp(IRDLOperation):
    """``acc += a @ b`` in every iteration, after the body of the iteration."""

    name = "tensix.matmul_k_loop"

    lower_bound = operand_def(INDEX)
    upper_bound = operand_def(INDEX)
    step = operand_def(INDEX)
    a = operand_def(BUFFER)
    b = operand_def(BUFFER)
    acc = operand_def(BUFFER)
    tiles = integers_prop()
    transpose_a = mark_prop()
    transpose_b = mark_prop()
    clear = mark_prop()
    body = region_def()

    traits = traits_def(RecursiveMemoryEffect(), SingleBlockImplicitTerminator(EndOp), LoopBranch())

    def __init__(
        self,
        bounds: tuple[Operand, Operand, Operand],
        a: Operand,
        b: Operand,
        acc: Operand,
        tiles: tuple[int, int, int],
        body: Region | None = None,
        *,
        transpose_a: bool = False,
        transpose_b: bool = False,
        clear: bool = False,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> None:
        """`bounds` are lower bound, upper bound and step; `tiles` are rows, columns and depth."""
        operands = [value_of(each) for each in (*bounds, a, b, acc)]
        Operation.__init__(
            self,
            operands=operands,
            properties=given(
                tiles=integers_attr(tiles),
                transpose_a=mark(transpose_a),
                transpose_b=mark(transpose_b),
                clear=mark(clear),
            ),
            attributes=dict(attributes or {}),
            regions=(new_body(1, body),),
        )

    @property
    def induction_variable(self) -> BlockArgument:
        return self.body.block.args[0]

    @property
    def body_block(self) -> Block:
        return self.body.block

    @property
    def block_tiles(self) -> tuple[int, int, int]:
        """Rows and columns of the accumulator and the depth of one step, in tiles."""
        rows, columns, depth = integers(self.tiles)
        return rows, columns, depth

    @override
    def verify_(self) -> None:
        verify_body(self.body, 1, "induction variable")
        extents = integers(self.tiles)
        if len(extents) != 3 or min(extents) < 1:
            raise VerifyException(
                f"tiles must be three positive extents: rows, columns, depth; got {list(extents)}"
            )

    @classmethod
    @override
    def parse(cls, parser: Any) -> MatmulKLoopOp:
        return _parse(parser)

    @override
    def print(self, printer: Any) -> None:
        _print(printer, self)


def _parse(parser: IRParser) -> MatmulKLoopOp:
    start = parser.pos
    induction = parser.resolve_argument(parser.parse_argument(expect_type=False), INDEX)
    parser.parse_punctuation("=")
    bounds = [parser.parse_unresolved_operand()]
    for keyword in ("to", "step"):
        parser.parse_keyword(keyword)
        bounds.append(parser.parse_unresolved_operand())
    parser.parse_keyword("inputs")
    parser.parse_punctuation("(")
    buffers = [parser.parse_unresolved_operand()]
    parser.parse_punctuation(",")
    buffers.append(parser.parse_unresolved_operand())
    parser.parse_punctuation(")")
    parser.parse_keyword("acc")
    parser.parse_punctuation("(")
    buffers.append(parser.parse_unresolved_operand())
    parser.parse_punctuation(")")
    parser.parse_keyword("tiles")
    tiles = integers_attr(parse_integers(parser))
    more, attributes = parse_attributes(parser, MatmulKLoopOp)
    parser.parse_punctuation(":")
    operands: list[SSAValue] = [parser.resolve_operand(bound, INDEX) for bound in bounds]
    for position, buffer in enumerate(buffers):
        if position:
            parser.parse_punctuation(",")
        operands.append(parser.resolve_operand(buffer, parser.parse_type()))
    body = parse_body(parser, start, [induction])
    return MatmulKLoopOp.create(
        operands=operands,
        properties={"tiles": tiles, **more},
        attributes=attributes,
        regions=[body],
    )


def _print(printer: IRPrinter, op: MatmulKLoopOp) -> None:
    printer.print_string(" ")
    printer.print_operand(op.induction_variable)
    for keyword, bound in (("= ", op.lower_bound), ("to ", op.upper_bound), ("step ", op.step)):
        printer.print_string(f" {keyword}")
        printer.print_operand(bound)
    printer.print_string(" inputs(")
    printer.print_list((op.a, op.b), printer.print_operand)
    printer.print_string(") acc(")
    printer.print_operand(op.acc)
    printer.print_string(")")
    print_integers(printer, "tiles", op.block_tiles)
    print_attributes(printer, op, ("tiles",))
    printer.print_string(" : ")
    printer.print_list((op.a.type, op.b.type, op.acc.type), printer.print_attribute)
    printer.print_string(" ")
    print_body(printer, op.body)
