"""The text and the checks of the part of ``llvm`` that is defined."""

import pytest
from xdsl.dialects.builtin import IntegerAttr, StringAttr, i1, i32
from xdsl.ir import Block
from xdsl.traits import is_side_effect_free
from xdsl.utils.exceptions import VerifyException

from tests.dialects.text_support import (
    PLAIN,
    check_same_as_triton,
    messages,
    parse,
    printed_body,
    returning,
    through_generic_form,
    triton_messages,
)
from tilewright.dialects import llvm
from tilewright.ir.text import print_module

ARGUMENTS = ("i1", "i32")

ASSUMPTIONS = [
    "llvm.intr.assume %arg0 : i1",
    "llvm.intr.assume %arg0 : i1 {a}",
    'llvm.intr.assume %arg0 ["align"(%arg1, %arg1 : i32, i32)] : i1',
    'llvm.intr.assume %arg0 ["x"(), "y"(%arg1 : i32)] : i1 {a}',
]


def test_assumptions_come_back():
    text = returning("\n".join(ASSUMPTIONS), *ARGUMENTS)
    assert printed_body(text) == ASSUMPTIONS
    assert through_generic_form(text) == ASSUMPTIONS
    check_same_as_triton(text)


def test_empty_list_of_bundles():
    text = returning("llvm.intr.assume %arg0 [] : i1", *ARGUMENTS)
    assert printed_body(text) == ASSUMPTIONS[:1]
    check_same_as_triton(text)


def test_bundles():
    c, n = Block(arg_types=[i1, i32]).args
    op = llvm.AssumeOp(c, [("align", [n, n]), ("cold", [])])
    op.verify()
    assert [(tag, list(values)) for tag, values in op.bundles] == [("align", [n, n]), ("cold", [])]
    assert llvm.AssumeOp(c).bundles == []
    assert not is_side_effect_free(op)


UNDEFINED = [
    "%0 = llvm.mlir.undef : i32",
    "%1 = llvm.mlir.undef : !llvm.struct<(i32, f32)>",
    "%2 = llvm.mlir.undef {a} : !llvm.struct<(ptr<3>, struct<()>)>",
]


def test_undefined_values_and_structs_come_back():
    text = returning("\n".join(UNDEFINED))
    assert printed_body(text) == UNDEFINED
    assert through_generic_form(text) == UNDEFINED
    check_same_as_triton(text)


def test_types_inside_structs_may_be_written_in_full():
    text = returning("%0 = llvm.mlir.undef : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<()>)>")
    assert printed_body(text) == ["%0 = llvm.mlir.undef : !llvm.struct<(ptr<3>, struct<()>)>"]


def test_structs_are_compared_by_their_elements():
    pair = llvm.StructType.get(i32, i1)
    assert pair == llvm.StructType.get(i32, i1)
    assert pair != llvm.StructType.get(i1, i32)
    op = llvm.UndefOp(pair)
    op.verify()
    assert op.result.type == pair
    assert is_side_effect_free(op)


FAULTS = [
    (
        '"llvm.intr.assume"(%arg1) <{op_bundle_sizes = array<i32>}> : (i32) -> ()',
        "operand #0 must be 1-bit signless integer, but got 'i32'",
    ),
    (
        '"llvm.intr.assume"(%arg0, %arg1) <{op_bundle_sizes = array<i32: 2>, op_bundle_tags = ["x"]}> : (i1, i32) -> ()',
        "op_bundle_operands count (1) does not match with the total size (2) specified in attribute 'op_bundle_sizes'",
    ),
    (
        '"llvm.intr.assume"(%arg0, %arg2) <{op_bundle_sizes = array<i32: 1>, op_bundle_tags = ["x"]}> : (i1, !tt.ptr<f32>) -> ()',
        "operand #1 must be variadic of LLVM dialect-compatible type, but got '!tt.ptr<f32>'",
    ),
]


@pytest.mark.parametrize(("line", "message"), FAULTS)
def test_fault(line: str, message: str, capfd: pytest.CaptureFixture[str]):
    text = returning(line, *ARGUMENTS, "!tt.ptr<f32>")
    expected = f"'llvm.intr.assume' op {message}"
    assert messages(text) == [expected]
    assert triton_messages(text, capfd) == [expected]


def test_number_of_tags():
    text = returning(
        '"llvm.intr.assume"(%arg0, %arg1) <{op_bundle_sizes = array<i32: 1>}> : (i1, i32) -> ()',
        *ARGUMENTS,
    )
    assert messages(text) == [
        "'llvm.intr.assume' op expected 1 operand bundle tags, but actually got 0"
    ]


# Loop annotations.

ANNOTATED = """\
#loop_distribute = #llvm.loop_distribute<disable = true>
#loop_interleave = #llvm.loop_interleave<count = 2 : i32>
#loop_licm = #llvm.loop_licm<disable = true, versioningDisable = true>
#loop_licm1 = #llvm.loop_licm<disable = true>
#loop_peeled = #llvm.loop_peeled<count = 1 : i32>
#loop_pipeline = #llvm.loop_pipeline<disable = false, initiationinterval = 3 : i32>
#loop_unroll = #llvm.loop_unroll<disable = true, count = 8 : i32, full = true>
#loop_unroll_and_jam = #llvm.loop_unroll_and_jam<disable = true, count = 4 : i32>
#loop_unswitch = #llvm.loop_unswitch<partialDisable = true>
#loop_vectorize = #llvm.loop_vectorize<disable = false, predicateEnable = true, scalableEnable = false, width = 4 : i32>
#loop_annotation = #llvm.loop_annotation<licm = #loop_licm>
#loop_annotation1 = #llvm.loop_annotation<disableNonforced = true, vectorize = #loop_vectorize, interleave = #loop_interleave, unroll = #loop_unroll, unrollAndJam = #loop_unroll_and_jam, licm = #loop_licm1, distribute = #loop_distribute, pipeline = #loop_pipeline, peeled = #loop_peeled, unswitch = #loop_unswitch, mustProgress = true, isVectorized = false>
#loop_unroll1 = #llvm.loop_unroll<followupAll = #loop_annotation>
#loop_annotation2 = #llvm.loop_annotation<unroll = #loop_unroll1>
module {
  tt.func @f(%arg0: i32) {
    scf.for %arg1 = %arg0 to %arg0 step %arg0  : i32 {
    } {llvm.loop_annotation = #loop_annotation}
    scf.for %arg1 = %arg0 to %arg0 step %arg0  : i32 {
    } {llvm.loop_annotation = #loop_annotation1}
    scf.for %arg1 = %arg0 to %arg0 step %arg0  : i32 {
    } {llvm.loop_annotation = #loop_annotation2}
    tt.return
  }
}
"""


def test_annotations_come_back():
    assert print_module(parse(ANNOTATED), flavour=PLAIN) == ANNOTATED
    check_same_as_triton(ANNOTATED)


def test_annotations_in_place():
    written = ANNOTATED[ANNOTATED.index("module") :]
    written = (
        written.replace(
            "#loop_annotation}",
            "#llvm.loop_annotation<licm = <disable = true, versioningDisable = true>>}",
        )
        .replace("#loop_annotation1", "unit")
        .replace("#loop_annotation2", "unit")
    )
    printed = print_module(parse(written), flavour=PLAIN)
    assert printed.splitlines()[:2] == [
        "#loop_licm = #llvm.loop_licm<disable = true, versioningDisable = true>",
        "#loop_annotation = #llvm.loop_annotation<licm = #loop_licm>",
    ]
    check_same_as_triton(written)


def test_records_differ_by_their_fields():
    yes, no = IntegerAttr(1, i1), IntegerAttr(0, i1)
    assert llvm.LoopLICMAttr.of(disable=yes) == llvm.LoopLICMAttr.of(disable=yes)
    assert llvm.LoopLICMAttr.of(disable=yes) != llvm.LoopLICMAttr.of(disable=no)
    assert hash(llvm.LoopLICMAttr.of(disable=yes)) == hash(llvm.LoopLICMAttr.of(disable=yes))


@pytest.mark.parametrize(
    ("name", "value"),
    [("disable", IntegerAttr(1, i32)), ("disable", StringAttr("x")), ("foo", IntegerAttr(1, i1))],
)
def test_field_that_does_not_fit(name: str, value):
    with pytest.raises(VerifyException, match=f"cannot be '{name}' of #llvm.loop_licm"):
        llvm.LoopLICMAttr.of(**{name: value})


def test_nested_record_of_another_kind():
    licm = llvm.LoopLICMAttr.of(disable=IntegerAttr(1, i1))
    with pytest.raises(VerifyException, match="cannot be 'unroll'"):
        llvm.LoopAnnotationAttr.of(unroll=licm)


@pytest.mark.parametrize("fields", ["foo = 1", "disable = true, disable = true"])
def test_unknown_or_repeated_field(fields: str, capfd: pytest.CaptureFixture[str]):
    text = returning(f"%0 = arith.constant {{a = #llvm.loop_licm<{fields}>}} 1 : i32")
    message = f"duplicate or unknown struct parameter name: {fields.split()[-3]}"
    assert messages(text) == [message]
    assert message in triton_messages(text, capfd)


def test_pointers():
    line = "%c1_i32 = arith.constant {a = !llvm.ptr, b = !llvm.ptr<3>} 1 : i32"
    assert printed_body(returning(line)) == [line]
    check_same_as_triton(returning(line))
    assert llvm.PointerType.get(3).address_space.value.data == 3
    assert llvm.PointerType.get() != llvm.PointerType.get(3)
