"""The text, the checks and the edges of ``cf``; Triton is the judge where it is installed."""

import pytest
from xdsl.dialects.builtin import IntegerType, f32, i1, i32
from xdsl.ir import Block
from xdsl.traits import is_side_effect_free

from tests.dialects.text_support import (
    check_same_as_triton,
    function,
    messages,
    parse,
    printed_body,
    returning,
    through_generic_form,
    triton_messages,
)
from tilewright.dialects import cf
from tilewright.ir.interfaces import branch_edges

ARGUMENTS = ("i1", "i32", "f32")

BLOCKS = """\
  cf.assert %arg0, "message \\22x\\22 \\0A \\C3\\A9 \\\\"
  cf.assert %arg0, "" {a}
  cf.cond_br %arg0, ^bb1, ^bb2(%arg2 : f32)
^bb1:  // pred: ^bb0
  cf.cond_br %arg0 weights([1, 2]), ^bb2(%arg2 : f32), ^bb3(%arg1, %arg2 : i32, f32)
^bb2(%0: f32):  // 4 preds: ^bb0, ^bb1, ^bb3, ^bb8
  cf.br ^bb3(%arg1, %0 : i32, f32) {a}
^bb3(%1: i32, %2: f32):  // 3 preds: ^bb1, ^bb2, ^bb3
  cf.switch %arg1 : i32, [
    default: ^bb4,
    42: ^bb2(%arg2 : f32),
    43: ^bb3(%1, %2 : i32, f32),
    44: ^bb4
  ]
^bb4:  // 2 preds: ^bb3, ^bb3
  cf.switch %arg1 : i32, [
    default: ^bb5] {b}
^bb5:  // pred: ^bb4
  cf.cond_br %arg0, ^bb6, ^bb6 {b}
^bb6:  // 2 preds: ^bb5, ^bb5
  cf.br ^bb7
^bb7:  // 3 preds: ^bb6, ^bb8, ^bb8
  ub.unreachable
^bb8:  // no predecessors
  cf.switch %arg1 : i32, [
    default: ^bb2(%arg2 : f32),
    5: ^bb7,
    5: ^bb7
  ]"""


def test_blocks_come_back():
    # Labels stand two columns to the left of ops; `printed_body` cuts the columns of the latter.
    expected = [line[2:] for line in BLOCKS.splitlines()]
    text = function(BLOCKS, *ARGUMENTS)
    lines = printed_body(text)
    assert lines == expected
    assert through_generic_form(text) == expected


def test_triton_prints_the_same():
    check_same_as_triton(function(BLOCKS, *ARGUMENTS))


def test_every_op_is_shown():
    assert [op.name for op in cf.Cf.operations if f"{op.name} " not in BLOCKS] == []


def test_weights_may_stand_in_the_dictionary():
    text = function(
        "cf.cond_br %arg0, ^bb1, ^bb1 {branch_weights = array<i32: 3, 4>}\n^bb1:\n  ub.unreachable",
        *ARGUMENTS,
    )
    assert printed_body(text)[0] == "cf.cond_br %arg0 weights([3, 4]), ^bb1, ^bb1"
    check_same_as_triton(text)


def test_negative_case_keeps_its_sign():
    """MLIR prints ``255`` for ``-1 : i8``, which its own parser refuses; we print what it accepts."""
    body = "cf.switch %arg0 : i8, [\n  default: ^bb1,\n  -1: ^bb1\n]\n^bb1:\n  ub.unreachable"
    assert printed_body(function(body, "i8"))[2] == "  -1: ^bb1"
    unsigned = body.replace("-1:", "255:")
    assert printed_body(function(unsigned, "i8"))[2] == "  -1: ^bb1"


FAULTS = [
    (
        "cf.br ^bb1(%arg1 : i32)\n^bb1:",
        "branch has 1 operands for successor #0, but target block has 0",
    ),
    ("cf.br ^bb1(%arg1 : i32)\n^bb1(%x: i64):", "type mismatch for bb argument #0 of successor #0"),
    (
        "cf.switch %arg1 : i32, [ default: ^bb1, 1: ^bb2(%arg1 : i32) ]\n^bb2(%x: f32):\n  ub.unreachable\n^bb1:",
        "type mismatch for bb argument #0 of successor #1",
    ),
    (
        '"cf.cond_br"(%arg1)[^bb1, ^bb1] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i32) -> ()\n^bb1:',
        "'cf.cond_br' op operand #0 must be 1-bit signless integer, but got 'i32'",
    ),
    (
        '"cf.cond_br"(%arg0)[^bb1] <{operandSegmentSizes = array<i32: 1, 0, 0>}> : (i1) -> ()\n^bb1:',
        "'cf.cond_br' op requires 2 successors but found 1",
    ),
    ('"cf.br"()[^bb1, ^bb1] : () -> ()\n^bb1:', "'cf.br' op requires 1 successor but found 2"),
    (
        '"cf.switch"(%arg1)[^bb1, ^bb1] <{operandSegmentSizes = array<i32: 1, 0, 0>, case_operand_segments = array<i32: 0>, case_values = dense<1> : vector<1xi64>}> : (i32) -> ()\n^bb1:',
        "'cf.switch' op 'flag' type ('i32') should match case value type ('i64')",
    ),
    (
        '"cf.switch"(%arg1)[^bb1, ^bb1] <{operandSegmentSizes = array<i32: 1, 0, 0>, case_operand_segments = array<i32: 0>, case_values = dense<1> : vector<2xi32>}> : (i32) -> ()\n^bb1:',
        "'cf.switch' op number of case values (2) should match number of case destinations (1)",
    ),
    (
        '"cf.assert"(%arg1) <{msg = "x"}> : (i32) -> ()',
        "'cf.assert' op operand #0 must be 1-bit signless integer, but got 'i32'",
    ),
    ('"cf.assert"(%arg0) : (i1) -> ()', "'cf.assert' op requires attribute 'msg'"),
]


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_fault(body: str, message: str, capfd: pytest.CaptureFixture[str]):
    text = returning(body, *ARGUMENTS)
    assert messages(text) == [message]
    assert triton_messages(text, capfd) == [message]


def test_number_of_weights():
    text = returning(
        '"cf.cond_br"(%arg0)[^bb1, ^bb1] <{operandSegmentSizes = array<i32: 1, 0, 0>, branch_weights = array<i32: 1, 2, 3>}> : (i1) -> ()\n^bb1:',
        *ARGUMENTS,
    )
    message = "expects number of branch weights to match number of successors: 3 vs 2"
    assert messages(text) == [f"'cf.cond_br' op {message}"]


def test_switch_on_something_else():
    text = returning("cf.switch %arg2 : f32, [ default: ^bb1 ]\n^bb1:", *ARGUMENTS)
    assert messages(text) == ["expected an integer type, but found 'f32'"]


def test_cases_without_values():
    text = returning(
        '"cf.switch"(%arg1)[^bb1, ^bb1] <{operandSegmentSizes = array<i32: 1, 0, 0>, case_operand_segments = array<i32: 0>}> : (i32) -> ()\n^bb1:',
        *ARGUMENTS,
    )
    assert messages(text) == [
        "'cf.switch' op requires attribute 'case_values' for its case destinations"
    ]


def test_edges():
    target, other = Block(arg_types=[f32]), Block()
    c, n, x = Block(arg_types=[i1, i32, f32]).args
    branch = cf.BranchOp(target, [x])
    assert [(e.target, list(e.operands)) for e in branch_edges(branch)] == [(target, [x])]
    conditional = cf.CondBranchOp(c, other, [], target, [x])
    assert [(e.target, list(e.operands)) for e in branch_edges(conditional)] == [
        (other, []),
        (target, [x]),
    ]
    switch = cf.SwitchOp(n, (other, []), [(-7, target, [x]), (8, other, [])])
    assert [(e.target, list(e.operands)) for e in branch_edges(switch)] == [
        (other, []),
        (target, [x]),
        (other, []),
    ]
    assert list(switch.cases) == [-7, 8]
    assert list(cf.SwitchOp(n, (other, [])).cases) == []
    assert list(cf.SwitchOp(n, (other, []), [(3, other, []), (3, other, [])]).cases) == [3, 3]


def test_out_of_range_case():
    (n,) = Block(arg_types=[IntegerType(8)]).args
    assert list(cf.SwitchOp(n, (Block(), []), [(255, Block(), [])]).cases) == [-1]
    text = returning("cf.switch %arg0 : i8, [ default: ^bb1, 300: ^bb1 ]\n^bb1:", "i8")
    assert "out of range" in messages(text)[0]


def test_effects():
    module = parse(returning('cf.assert %arg0, "x"', *ARGUMENTS))
    op = next(op for op in module.walk() if isinstance(op, cf.AssertOp))
    assert op.message.data == "x"
    assert not is_side_effect_free(op)
    assert is_side_effect_free(cf.BranchOp(Block()))
