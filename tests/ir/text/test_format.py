"""Assembly formats: every construct of the format language, parsed and printed back."""

from typing import ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, IntegerAttr, TensorType, UnitAttr, i1, i32
from xdsl.ir import Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    successor_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import ParseError, VerifyException

from tilewright.ir.op_verifier import verify_by_definition
from tilewright.ir.text import syntax
from tilewright.ir.text.assembly import AsmOp, Directive, TypeRule
from tilewright.ir.text.compiler import FormatError
from tilewright.ir.text.parser import IRParser
from tilewright.ir.text.printer import print_module


@irdl_attr_definition
class BoxType(ParametrizedAttribute, TypeAttribute):
    name = "t.box"
    inner: TypeAttribute

    @classmethod
    def parse_parameters(cls, parser):
        with parser.in_angle_brackets():
            return [parser.parse_type()]

    def print_parameters(self, printer):
        printer.print_string("<")
        printer.print_attribute(self.inner)
        printer.print_string(">")


@irdl_op_definition
class MakeOp(AsmOp):
    name = "t.make"
    results_ = var_result_def()
    ASM: ClassVar[str] = "attr-dict `:` type($results_)"


@irdl_op_definition
class PlainOp(AsmOp):
    name = "t.plain"
    lhs = operand_def()
    rhs = operand_def()
    out = result_def()
    TYPES: ClassVar = {
        "rhs": TypeRule("rhs has the type of lhs", lambda t: t["lhs"]),
        "out": TypeRule("out has the type of lhs", lambda t: t["lhs"]),
    }
    ASM: ClassVar[str] = "$lhs `,` $rhs attr-dict `:` type($lhs)"


@irdl_op_definition
class GroupsOp(AsmOp):
    name = "t.groups"
    src = operand_def(i32)
    mask = opt_operand_def(i1)
    rest = var_operand_def()
    fast = opt_prop_def(UnitAttr)
    cache = prop_def(IntegerAttr, default_value=IntegerAttr(1, i32))
    evict = prop_def(IntegerAttr, default_value=IntegerAttr(0, i32))
    axis = opt_prop_def(IntegerAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    SYNTAX: ClassVar = {
        "fast": syntax.UNIT,
        "cache": syntax.Enum({"none": 1, "ca": 2}),
        "evict": syntax.Enum({"normal": 0, "first": 1}),
        "axis": syntax.INT32,
    }
    ASM: ClassVar[str] = (
        "$src (`,` $mask^)? (`fast` $fast^)? (`rest` `(` $rest^ `:` type($rest) `)`)?"
        " oilist(`cache` `=` $cache | `evict` `=` $evict) (`axis` $axis^):(`noaxis`)? attr-dict"
    )


@irdl_op_definition
class StrippedOp(AsmOp):
    name = "t.stripped"
    box = operand_def(BoxType)
    ASM: ClassVar[str] = "$box `` `[` `]` attr-dict `:` stripped(type($box))"


def _parse_pair(parser, state):
    state.operands["pair"] = parser.parse_comma_separated_list(
        parser.Delimiter.SQUARE, parser.parse_unresolved_operand
    )


def _print_pair(printer, op):
    printer.print_string("[")
    printer.print_list(op.pair, printer.print_operand)
    printer.print_string("]")


@irdl_op_definition
class CustomOp(AsmOp):
    name = "t.custom"
    pair = var_operand_def(i32)
    outs = var_result_def()
    body = region_def()
    DIRECTIVES: ClassVar = {"Pair": Directive(_parse_pair, _print_pair)}
    ASM: ClassVar[str] = (
        "custom<Pair>($pair) attr-dict-with-keyword $body `:` functional-type($pair, $outs)"
    )


@irdl_op_definition
class JumpOp(AsmOp):
    name = "t.jump"
    operands_ = var_operand_def()
    target = successor_def()
    ASM: ClassVar[str] = "$target (`(` $operands_^ `:` type($operands_) `)`)? attr-dict"


DIALECT = Dialect("t", [MakeOp, PlainOp, GroupsOp, StrippedOp, CustomOp, JumpOp], [BoxType])
PRELUDE = "%i:4 = t.make : i32, f32, i1, !t.box<i32>\n"


def parse(text):
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(DIALECT)
    return IRParser(context, PRELUDE + text, "t.mlir").parse_module()


def round_trip(text):
    module = parse(text)
    printed = print_module(module).splitlines()[2:-1]
    return "\n".join(line[2:] for line in printed)


@pytest.mark.parametrize(
    "text",
    [
        "%0 = t.plain %i#0, %i#0 : i32",
        "%0 = t.plain %i#0, %i#0 {a = 1 : i64, b} : i32",
        "t.groups %i#0 noaxis",
        "t.groups %i#0, %i#2 noaxis",
        "t.groups %i#0 fast noaxis",
        "t.groups %i#0 rest(%i#1, %i#2 : f32, i1) axis 3",
        "t.groups %i#0 cache = ca noaxis",
        "t.groups %i#0 cache = ca evict = first noaxis {z}",
        "t.stripped %i#3[] : <i32>",
        "t.custom [%i#0, %i#0] {\n} : (i32, i32) -> ()",
        "%0:2 = t.custom [%i#0] attributes {k} {\n  %1 = t.plain %i#0, %i#0 : i32\n} : (i32) -> (i32, f32)",
    ],
)
def test_prints_as_written(text):
    assert round_trip(text) == text


def test_clauses_come_in_any_order_and_print_in_one():
    assert round_trip("t.groups %i#0 evict = first cache = ca noaxis") == (
        "t.groups %i#0 cache = ca evict = first noaxis"
    )


def test_defaults_are_present_after_parsing_and_not_printed():
    module = parse("t.groups %i#0 noaxis")
    op = module.body.block.last_op
    assert op.properties["cache"] == IntegerAttr(1, i32)
    assert "cache" not in print_module(module)
    assert "cache = 1 : i32" in print_module(module, generic=True)


def test_stripped_type_may_be_written_in_full():
    assert round_trip("t.stripped %i#3[] : !t.box<i32>") == "t.stripped %i#3[] : <i32>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("%0 = t.plain %i#0 %i#0 : i32", "expected ','"),
        (
            "%0 = t.plain %i#0, %i#1 : i32",
            "use of value '%i' expects different type than prior uses: 'i32' vs 'f32'",
        ),
        ("t.groups %i#0 cache = xx noaxis", "expected one of: none, ca; found 'xx'"),
        (
            "t.groups %i#0, %i#1 noaxis",
            "use of value '%i' expects different type than prior uses: 'i1' vs 'f32'",
        ),
        ("t.groups noaxis", "expected SSA operand"),
        ("t.groups %i#0", "expected 'noaxis'"),
        ("t.custom [%i#0] {} : (i32, i32) -> ()", "1 operands present, but expected 2"),
    ],
)
def test_errors(text, message):
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.msg == message


def test_type_rules_are_verified():
    module = parse('%0 = "t.plain"(%i#0, %i#1) : (i32, f32) -> i32')
    with pytest.raises(VerifyException, match="failed to verify that rhs has the type of lhs"):
        verify_by_definition(module.body.block.last_op)


@pytest.mark.parametrize(
    ("asm", "message"),
    [
        ("$nothing", "'nothing' is neither operand"),
        ("(`x` $src)?", "needs an anchor"),
        ("custom<Missing>($src)", "has no directive 'Missing'"),
        ("oilist($src)", "starts with a literal"),
        ("stripped(type($src))", "needs an operand of one type class"),
        ("§", "cannot read format"),
    ],
)
def test_bad_formats_are_refused(asm, message):
    source = {
        "name": "t.bad",
        "src": operand_def(TensorType | BoxType),
        "ASM": asm,
        "__annotations__": {"ASM": ClassVar[str]},
    }
    bad = irdl_op_definition(type("Bad", (AsmOp,), source))
    with pytest.raises(FormatError, match=message):
        bad.format()
