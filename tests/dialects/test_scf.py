"""The text, the checks and the control flow of ``scf``; Triton is the judge where installed."""

import pytest
from xdsl.dialects.builtin import IndexType, UnitAttr, f32, i1, i32
from xdsl.ir import Block, Region
from xdsl.traits import is_side_effect_free, is_speculatable

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
from tilewright.dialects import arith, scf
from tilewright.ir.interfaces import RegionBranch

ARGUMENTS = ("i32", "f32", "i1", "index")

# `_` at the end of a line stands for a blank that MLIR prints there.
_BODIES = [
    """\
scf.for %arg4 = %arg0 to %arg0 step %arg0  : i32 {
}""",
    """\
scf.for %arg4 = %arg3 to %arg3 step %arg3 {
  %0 = arith.addi %arg4, %arg4 : index
}""",
    """\
scf.for unsigned %arg4 = %arg0 to %arg0 step %arg0  : i32 {
} {tt.num_stages = 3 : i32}""",
    """\
%0 = scf.for %arg4 = %arg0 to %arg0 step %arg0 iter_args(%arg5 = %arg1) -> (f32)  : i32 {
  %1 = arith.addf %arg5, %arg5 : f32
  scf.yield {a = 1 : i32} %1 : f32
} {b}""",
    """\
%0:2 = scf.for %arg4 = %arg3 to %arg3 step %arg3 iter_args(%arg5 = %arg1, %arg6 = %arg0) -> (f32, i32) {
  scf.yield %arg5, %arg6 : f32, i32
}
%1 = arith.addi %0#1, %0#1 : i32""",
    """\
scf.if %arg2 {
}""",
    """\
scf.if %arg2 {
} else {
}""",
    """\
scf.if %arg2 {
  %0 = arith.addi %arg0, %arg0 : i32
} else {
  scf.if %arg2 {
  } {a}
} {b = 1 : i32}""",
    """\
%0 = scf.if %arg2 -> (f32) {
  scf.yield %arg1 : f32
} else {
  scf.yield {a} %arg1 : f32
}""",
    """\
%0:2 = scf.if %arg2 -> (f32, i32) {
  scf.yield %arg1, %arg0 : f32, i32
} else {
  scf.yield %arg1, %arg0 : f32, i32
} {a}""",
    """\
%0:2 = scf.while (%arg4 = %arg0, %arg5 = %arg1) : (i32, f32) -> (i32, f32) {
  scf.condition(%arg2) %arg4, %arg5 : i32, f32
} do {
^bb0(%arg4: i32, %arg5: f32):
  scf.yield %arg4, %arg5 : i32, f32
} attributes {a = 1 : i32}""",
    """\
scf.while : () -> () {
  scf.condition(%arg2) {a}
} do {
  scf.yield
}""",
    """\
%0 = scf.while (%arg4 = %arg0) : (i32) -> f32 {
  scf.condition(%arg2) %arg1 : f32
} do {
^bb0(%arg4: f32):
  scf.yield %arg0 : i32
}""",
    """\
%0 = scf.execute_region -> i32 {
  cf.cond_br %arg2, ^bb1, ^bb2
^bb1:  // pred: ^bb0
  scf.yield %arg0 : i32
^bb2:  // pred: ^bb0
  scf.yield %arg0 : i32
} {a}""",
    """\
%0:2 = scf.execute_region -> (i32, f32) no_inline {
  scf.yield %arg0, %arg1 : i32, f32
}""",
    """\
scf.execute_region {
  scf.yield
}""",
    """\
scf.index_switch %arg3_
default {
}""",
    """\
%0 = scf.index_switch %arg3 {a} -> i32_
case 2 {
  scf.yield %arg0 : i32
}
case -5 {
  scf.yield %arg0 : i32
}
default {
  scf.yield %arg0 : i32
}""",
    """\
%0:2 = scf.index_switch %arg3 -> i32, f32_
case 0 {
  scf.yield %arg0, %arg1 : i32, f32
}
default {
  scf.yield {a} %arg0, %arg1 : i32, f32
}""",
    """\
scf.index_switch %arg3_
case 1 {
  scf.yield
}
default {
  %0 = arith.addi %arg0, %arg0 : i32
}""",
]


BODIES = [body.replace("_\n", " \n") for body in _BODIES]


@pytest.mark.parametrize("body", BODIES)
def test_body_comes_back(body: str):
    text = returning(body, *ARGUMENTS)
    assert printed_body(text) == body.splitlines()
    assert through_generic_form(text) == body.splitlines()


@pytest.mark.parametrize("body", BODIES)
def test_triton_prints_the_same(body: str):
    check_same_as_triton(returning(body, *ARGUMENTS))


def test_every_op_is_shown():
    shown = "\n".join(BODIES)
    assert [op.name for op in scf.Scf.operations if op.name not in shown] == []


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        (
            "scf.for %i = %arg0 to %arg0 step %arg0 : i32 { scf.yield } {unsignedCmp}",
            ["scf.for unsigned %arg4 = %arg0 to %arg0 step %arg0  : i32 {", "}"],
        ),
        ("scf.if %arg2 { ^bb0: scf.yield }", ["scf.if %arg2 {", "}"]),
        (
            "%0 = scf.if %arg2 -> f32 { scf.yield %arg1 : f32 } else { scf.yield %arg1 : f32 }",
            [
                "%0 = scf.if %arg2 -> (f32) {",
                "  scf.yield %arg1 : f32",
                "} else {",
                "  scf.yield %arg1 : f32",
                "}",
            ],
        ),
        (
            "scf.execute_region { scf.yield } {no_inline}",
            ["scf.execute_region no_inline {", "  scf.yield", "}"],
        ),
    ],
)
def test_other_spelling(written: str, printed: list[str]):
    text = returning(written, *ARGUMENTS)
    assert printed_body(text) == printed
    check_same_as_triton(text)


def test_locations_and_names():
    check_same_as_triton(
        returning(
            """\
%r:2 = scf.if %arg2 -> (i32, i32) {
  scf.yield %arg0, %arg0 : i32, i32
} else {
  scf.yield %arg0, %arg0 : i32, i32 loc("inner")
} loc("both")
%l = scf.for %i = %arg0 to %r#1 step %arg0 iter_args(%acc = %arg1) -> (f32) : i32 {
  %x = arith.addf %acc, %acc : f32 loc("x"("f.py":3:4))
  scf.yield %x : f32
} loc("loop")
scf.for %i = %arg0 to %arg0 step %arg0 : i32 { } loc("f.py":7:8)
%w = scf.while (%q = %arg0) : (i32) -> i32 {
  scf.condition(%arg2) %q : i32 loc("go on")
} do {
^bb0(%q: i32 loc("carried"("f.py":3:4))):
  %b = arith.addi %q, %r#0 : i32 loc(callsite("b" at "f.py":1:1))
  scf.yield %b : i32
} attributes {a = 1 : i32} loc("while")""",
            *ARGUMENTS,
        )
    )


def test_numbers_go_on_inside_regions():
    body = """\
%0 = arith.addi %arg0, %arg0 : i32
%1 = scf.if %arg2 -> (i32) {
  %3 = arith.addi %0, %0 : i32
  scf.yield %3 : i32
} else {
  %3 = arith.subi %0, %0 : i32
  scf.yield %3 : i32
}
%2 = arith.addi %1, %1 : i32"""
    assert printed_body(returning(body, *ARGUMENTS)) == body.splitlines()
    check_same_as_triton(returning(body, *ARGUMENTS))


# Faults.

FAULTS = [
    (
        "scf.for %i = %arg1 to %arg1 step %arg1 : f32 { }",
        "'scf.for' op operand #0 must be signless integer or index, but got 'f32'",
    ),
    (
        '"scf.for"(%arg0, %arg3, %arg0) ({ ^bb0(%i: i32): scf.yield }) : (i32, index, i32) -> ()',
        "'scf.for' op failed to verify that all of {lowerBound, upperBound, step} have same type",
    ),
    (
        '"scf.for"(%arg0, %arg0, %arg0) ({ ^bb0(%i: i64): scf.yield }) : (i32, i32, i32) -> ()',
        "'scf.for' op expected induction variable to be same type as bounds and step",
    ),
    (
        '"scf.for"(%arg0, %arg0, %arg0) ({ ^bb0: scf.yield }) : (i32, i32, i32) -> ()',
        "'scf.for' op expected body to have at least 1 argument(s) for the induction variable, but got 0",
    ),
    (
        '"scf.for"(%arg0, %arg0, %arg0) ({ }) : (i32, i32, i32) -> ()',
        "'scf.for' op region #0 ('region') failed to verify constraint: region with 1 blocks",
    ),
    (
        '"scf.for"(%arg0, %arg0, %arg0) ({ ^bb0(%i: i32): scf.yield ^bb1: scf.yield}) : (i32, i32, i32) -> ()',
        "'scf.for' op expects region #0 to have 0 or 1 blocks",
    ),
    (
        '"scf.for"(%arg0, %arg0, %arg0, %arg1) ({ ^bb0(%i: i32, %x: f32): scf.yield %x : f32}) : (i32, i32, i32, f32) -> ()',
        "'scf.for' op mismatch in number of loop-carried values and defined values",
    ),
    (
        '%0 = "scf.for"(%arg0, %arg0, %arg0, %arg1) ({ ^bb0(%i: i32): scf.yield %arg1 : f32}) : (i32, i32, i32, f32) -> f32',
        "'scf.for' op different number of inits and region iter_args: 1 != 0",
    ),
    (
        '%0 = "scf.for"(%arg0, %arg0, %arg0, %arg1) ({ ^bb0(%i: i32, %x: f32): scf.yield %x : f32}) : (i32, i32, i32, f32) -> f64',
        "'scf.for' op along control flow edge from parent to Operation scf.for: successor operand type #0 'f32' should match successor input type #0 'f64'",
    ),
    (
        '%0 = "scf.for"(%arg0, %arg0, %arg0, %arg1) ({ ^bb0(%i: i32, %x: f32): scf.yield %i : i32}) : (i32, i32, i32, f32) -> f32',
        "'scf.for' op along control flow edge from Operation scf.yield to Region #0: successor operand type #0 'i32' should match successor input type #0 'f32'",
    ),
    (
        '%0 = "scf.for"(%arg0, %arg0, %arg0, %arg1) ({ ^bb0(%i: i32, %x: f32): scf.yield }) : (i32, i32, i32, f32) -> f32',
        "'scf.for' op along control flow edge from Operation scf.yield to Region #0: region branch point has 0 operands, but region successor needs 1 inputs",
    ),
    (
        "scf.for %i = %arg0 to %arg0 step %arg0 : i32 { scf.yield %i : i32 }",
        "'scf.for' op different number of region iter_args and yielded values: 0 != 1",
    ),
    (
        '%0 = "scf.for"(%arg0) ({ }) : (i32) -> i32',
        "'scf.for' op expected 3 or more operands, but found 1",
    ),
    (
        "%0 = scf.if %arg2 -> f32 { scf.yield %arg1 : f32 }",
        "'scf.if' op must have an else block if defining values",
    ),
    (
        "%0 = scf.if %arg2 -> f32 { scf.yield %arg1 : f32 } else { scf.yield %arg0 : i32 }",
        "'scf.if' op along control flow edge from Operation scf.yield to Operation scf.if: successor operand type #0 'i32' should match successor input type #0 'f32'",
    ),
    (
        "%0 = scf.if %arg2 -> f32 { } else { scf.yield %arg1 : f32 }",
        "'scf.if' op along control flow edge from Operation scf.yield to Operation scf.if: region branch point has 0 operands, but region successor needs 1 inputs",
    ),
    (
        "scf.if %arg2 { scf.yield %arg1 : f32 }",
        "'scf.if' op along control flow edge from Operation scf.yield to Operation scf.if: region branch point has 1 operands, but region successor needs 0 inputs",
    ),
    (
        '"scf.if"(%arg0) ({ scf.yield }, {}) : (i32) -> ()',
        "'scf.if' op operand #0 must be 1-bit signless integer, but got 'i32'",
    ),
    (
        '"scf.if"(%arg2) ({ ^bb0(%x: i32): scf.yield }, {}) : (i1) -> ()',
        "'scf.if' op region #0 should have no arguments",
    ),
    (
        '"scf.if"(%arg2) ({}, {}) : (i1) -> ()',
        "'scf.if' op region #0 ('thenRegion') failed to verify constraint: region with 1 blocks",
    ),
    ('"scf.if"(%arg2) ({scf.yield}) : (i1) -> ()', "'scf.if' op expected 2 regions"),
    (
        "%0 = scf.while (%x = %arg1) : (f32) -> i32 { scf.condition(%arg2) %x : f32 } do { ^bb0(%y: i32): scf.yield %arg1 : f32 }",
        "'scf.while' op along control flow edge from Operation scf.condition to Operation scf.while: successor operand type #0 'f32' should match successor input type #0 'i32'",
    ),
    (
        "%0 = scf.while (%x = %arg1) : (f32) -> f32 { scf.condition(%arg2) %x : f32 } do { ^bb0(%y: i32): scf.yield %arg1 : f32 }",
        "'scf.while' op along control flow edge from Operation scf.condition to Region #1: successor operand type #0 'f32' should match successor input type #0 'i32'",
    ),
    (
        "%0 = scf.while (%x = %arg1) : (f32) -> f32 { scf.condition(%arg2) %x : f32 } do { ^bb0(%y: f32): scf.yield %arg0 : i32 }",
        "'scf.while' op along control flow edge from Operation scf.yield to Region #0: successor operand type #0 'i32' should match successor input type #0 'f32'",
    ),
    (
        "%0 = scf.while (%x = %arg1) : (f32) -> f32 { scf.yield %x : f32 } do { ^bb0(%y: f32): scf.yield %arg1 : f32 }",
        "'scf.while' op expects the 'before' region to terminate with 'scf.condition'",
    ),
    (
        "%0 = scf.while (%x = %arg1) : (f32) -> f32 { scf.condition(%arg2) %x : f32 } do { ^bb0(%y: f32): ub.unreachable }",
        "'scf.while' op expects the 'after' region to terminate with 'scf.yield'",
    ),
    (
        '"scf.while"() ({}, {}) : () -> ()',
        "'scf.while' op region #0 ('before') failed to verify constraint: region with 1 blocks",
    ),
    (
        "%0 = scf.execute_region -> i32 { scf.yield %arg1 : f32 }",
        "'scf.execute_region' op along control flow edge from Operation scf.yield to Operation scf.execute_region: successor operand type #0 'f32' should match successor input type #0 'i32'",
    ),
    (
        '"scf.execute_region"() ({}) : () -> ()',
        "'scf.execute_region' op region needs to have at least one block",
    ),
    (
        '"scf.execute_region"() ({^bb0(%x: i32): scf.yield}) : () -> ()',
        "'scf.execute_region' op region cannot have any arguments",
    ),
    (
        "%0 = scf.index_switch %arg3 -> i32 case 1 { scf.yield %arg1 : f32 } default { scf.yield %arg0 : i32 }",
        "'scf.index_switch' op expected result #0 of each region to be 'i32'",
    ),
    (
        "%0 = scf.index_switch %arg3 -> i32 case 1 { scf.yield } default { scf.yield %arg0 : i32 }",
        "'scf.index_switch' op expected each region to return 1 values, but case region #0 returns 0",
    ),
    (
        "%0 = scf.index_switch %arg3 -> i32 default { scf.yield }",
        "'scf.index_switch' op expected each region to return 1 values, but default region returns 0",
    ),
    (
        "scf.index_switch %arg3 case 1 { scf.yield } case 1 { scf.yield } default { }",
        "'scf.index_switch' op has duplicate case value: 1",
    ),
    (
        "scf.index_switch %arg3 case 1 { } default { }",
        "'scf.index_switch' op region #1 ('caseRegions') failed to verify constraint: region with 1 blocks",
    ),
    (
        '"scf.index_switch"(%arg3) <{cases = array<i64: 1, 2>}> ({scf.yield}, {scf.yield}) : (index) -> ()',
        "'scf.index_switch' op has 1 case regions but 2 case values",
    ),
]


@pytest.mark.parametrize(("body", "message"), FAULTS)
def test_fault(body: str, message: str, capfd: pytest.CaptureFixture[str]):
    text = returning(body, *ARGUMENTS)
    assert messages(text) == [message]
    assert triton_messages(text, capfd) == [message]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "scf.yield",
            "'scf.yield' op expects parent op to be one of 'scf.execute_region, scf.for, scf.if, scf.index_switch, scf.while'",
        ),
        ("scf.condition(%arg2)", "'scf.condition' op expects parent op 'scf.while'"),
    ],
)
def test_terminator_in_the_wrong_place(body: str, message: str, capfd: pytest.CaptureFixture[str]):
    text = function(body, *ARGUMENTS)
    assert messages(text) == [message]
    assert triton_messages(text, capfd) == [message]


def test_region_that_ends_in_another_way():
    text = returning('"scf.if"(%arg2) ({ scf.yield }, { ub.unreachable }) : (i1) -> ()', *ARGUMENTS)
    assert messages(text) == [
        "'scf.if' op expects regions to end with 'scf.yield', found 'ub.unreachable'"
    ]
    inside = "'scf.index_switch' op expects regions to end with 'scf.yield', found 'ub.unreachable'"
    text = returning("scf.index_switch %arg3 case 1 { ub.unreachable } default { }", *ARGUMENTS)
    assert messages(text) == [inside]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "%0 = scf.for %i = %arg0 to %arg0 step %arg0 iter_args(%x = %arg1) -> (f32, f32) : i32 { scf.yield %x : f32 }",
            "mismatch in number of loop-carried values and defined values",
        ),
        (
            "%0 = scf.while (%x = %arg1) : (f32, f32) -> f32 { scf.condition(%arg2) %x : f32 } do { ^bb0(%y: f32): scf.yield %arg1 : f32 }",
            "expected as many input types as operands (expected 1 got 2)",
        ),
        (
            "scf.for %i = %arg3 to %arg3 step %arg3 { ^bb0: scf.yield }",
            "invalid block name in region with named arguments",
        ),
    ],
)
def test_text_that_cannot_be_read(body: str, message: str, capfd: pytest.CaptureFixture[str]):
    text = returning(body, *ARGUMENTS)
    assert messages(text) == [message]
    assert triton_messages(text, capfd)[0].endswith(message)


# Construction.


def arguments(*types):
    return Block(arg_types=types).args


def test_for_without_body_gets_one():
    n, x = arguments(i32, f32)
    plain = scf.ForOp(n, n, n)
    plain.verify()
    assert plain.induction_variable.type == i32
    assert plain.iter_args == ()
    assert len(plain.yield_op.operands) == 0
    carrying = scf.ForOp(n, n, n, [x], unsigned=True)
    assert carrying.unsigned == UnitAttr()
    assert [argument.type for argument in carrying.iter_args] == [f32]
    assert list(carrying.init_args) == [x]
    assert carrying.body_block.last_op is None
    carrying.body_block.add_op(scf.YieldOp(carrying.iter_args))
    carrying.verify()
    assert list(carrying.yield_op.arguments) == list(carrying.iter_args)
    assert [result.type for result in carrying.results] == [f32]


def test_if_gets_the_regions_it_needs():
    c, x = arguments(i1, f32)
    plain = scf.IfOp(c)
    plain.verify()
    assert not plain.has_else
    choosing = scf.IfOp(c, [f32])
    assert choosing.has_else
    for region in (choosing.then_region, choosing.else_region):
        region.block.add_op(scf.YieldOp([x]))
    choosing.verify()
    assert choosing.then_yield.arguments[0] is x
    assert choosing.else_yield.arguments[0] is x


def test_while_gets_blocks_with_arguments():
    c, n, x = arguments(i1, i32, f32)
    loop = scf.WhileOp([n], [f32])
    assert list(loop.before_region.block.arg_types) == [i32]
    assert list(loop.after_region.block.arg_types) == [f32]
    loop.before_region.block.add_op(scf.ConditionOp(c, [x]))
    loop.after_region.block.add_op(scf.YieldOp([n]))
    loop.verify()
    assert loop.condition_op.condition is c
    assert list(loop.condition_op.arguments) == [x]
    assert list(loop.yield_op.arguments) == [n]


def test_switch_and_region():
    (index,) = arguments(IndexType())

    def ending() -> Region:
        return Region(Block([scf.YieldOp()]))

    switch = scf.IndexSwitchOp(index, [3, 4], [], ending(), [ending(), ending()])
    switch.verify()
    assert switch.cases.get_values() == (3, 4)
    region = scf.ExecuteRegionOp([], ending(), no_inline=True)
    region.verify()
    assert region.no_inline == UnitAttr()


# Control flow.


def edges(op, point):
    """The edges that leave `point`: what is handed over, and how many inputs get no value."""
    return [
        (edge.target, list(edge.operands), len(edge.unknown))
        for edge in op.get_trait(RegionBranch).successors(op, point)
    ]


def only(module, cls):
    (found,) = (op for op in module.walk() if isinstance(op, cls))
    return found


def test_edges_of_for():
    body = "%0 = scf.for %i = %arg0 to %arg0 step %arg0 iter_args(%x = %arg1) -> (f32) : i32 { scf.yield %x : f32 }"
    op = only(parse(returning(body, *ARGUMENTS)), scf.ForOp)
    init, carried = [op.init_args[0]], [op.iter_args[0]]
    assert edges(op, op) == [(op.body, init, 1), (op, init, 0)]
    assert edges(op, op.body) == [(op.body, carried, 1), (op, carried, 0)]


def test_edges_of_while():
    body = "%0 = scf.while (%x = %arg0) : (i32) -> f32 { scf.condition(%arg2) %arg1 : f32 } do { ^bb0(%y: f32): scf.yield %arg0 : i32 }"
    op = only(parse(returning(body, *ARGUMENTS)), scf.WhileOp)
    passed, back = list(op.condition_op.arguments), list(op.yield_op.arguments)
    assert edges(op, op) == [(op.before_region, [op.inits[0]], 0)]
    assert edges(op, op.before_region) == [(op, passed, 0), (op.after_region, passed, 0)]
    assert edges(op, op.after_region) == [(op.before_region, back, 0)]


def test_edges_of_if():
    both = only(
        parse(
            returning(
                "%0 = scf.if %arg2 -> f32 { scf.yield %arg1 : f32 } else { scf.yield %arg1 : f32 }",
                *ARGUMENTS,
            )
        ),
        scf.IfOp,
    )
    assert edges(both, both) == [(both.then_region, [], 0), (both.else_region, [], 0)]
    assert edges(both, both.else_region) == [(both, list(both.else_yield.arguments), 0)]
    single = only(parse(returning("scf.if %arg2 { }", *ARGUMENTS)), scf.IfOp)
    assert edges(single, single) == [(single.then_region, [], 0), (single, [], 0)]


def test_edges_of_execute_region_with_blocks():
    body = "%0 = scf.execute_region -> i32 { cf.cond_br %arg2, ^bb1, ^bb2 ^bb1: scf.yield %arg0 : i32 ^bb2: scf.yield %arg0 : i32 }"
    op = only(parse(returning(body, *ARGUMENTS)), scf.ExecuteRegionOp)
    assert edges(op, op) == [(op.region, [], 0)]
    assert [target for target, _, _ in edges(op, op.region)] == [op, op]


# Effects.


def test_effects_are_those_of_the_body():
    quiet = only(
        parse(returning("scf.if %arg2 { %0 = arith.addi %arg0, %arg0 : i32 }", *ARGUMENTS)),
        scf.IfOp,
    )
    loud = only(parse(returning('scf.if %arg2 { cf.assert %arg2, "x" }', *ARGUMENTS)), scf.IfOp)
    assert is_side_effect_free(quiet) and not is_side_effect_free(loud)
    assert is_speculatable(quiet)


def test_loop_is_speculated_only_with_step_one():
    def loop(step: str):
        body = f"%s = {step} scf.for %i = %arg0 to %arg0 step %s : i32 {{ }}"
        return only(parse(returning(body, *ARGUMENTS)), scf.ForOp)

    assert is_speculatable(loop("arith.constant 1 : i32"))
    assert not is_speculatable(loop("arith.constant 2 : i32"))
    assert not is_speculatable(loop("arith.addi %arg0, %arg0 : i32"))
    division = only(
        parse(
            returning(
                "%s = arith.constant 1 : i32 scf.for %i = %arg0 to %arg0 step %s : i32 { %d = arith.divsi %i, %i : i32 }",
                *ARGUMENTS,
            )
        ),
        scf.ForOp,
    )
    assert not is_speculatable(division)
    assert arith.ConstantOp is type(division.step.owner)
