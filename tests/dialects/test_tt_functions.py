"""Functions, calls and returns of ``tt``: text, faults, and what other code sees of them."""

import pytest
from xdsl.dialects.builtin import FunctionType, IntegerAttr, ModuleOp, StringAttr, f32, i32
from xdsl.traits import CallableOpInterface, SymbolTable

from tests.dialects.text_support import (
    PLAIN,
    check_same_as_triton,
    messages,
    parse,
    triton_messages,
)
from tilewright.dialects.tt import CallOp, FuncOp, PtrType, ReturnOp
from tilewright.ir.effects import is_removable
from tilewright.ir.interfaces import CallLike, function_body, returns
from tilewright.ir.text import print_module

FUNCTIONS = [
    """\
  tt.func @f() {
    tt.return
  }""",
    """\
  tt.func public @f(%arg0: i32, %arg1: !tt.ptr<f32> {tt.divisibility = 16 : i32}) -> i32 attributes {noinline = false} {
    tt.return %arg0 : i32
  }""",
    """\
  tt.func nested @f(%arg0: i32) -> (i32 {a.b = 1 : i32}, f32) {
    cf.br ^bb1(%arg0 : i32)
  ^bb1(%0: i32):  // pred: ^bb0
    %cst = arith.constant 1.000000e+00 : f32
    tt.return {a} %0, %cst : i32, f32
  }""",
    """\
  tt.func private @f(i32 {tt.divisibility = 16 : i32}, !tt.ptr<f32>) -> (i32, f32)""",
    """\
  tt.func private @"a b"()""",
    """\
  tt.func private @f(i32) -> (f32 {a.b})""",
    """\
  tt.func private @f() -> (() -> i32)""",
    """\
  tt.func private @g(i32) -> (i32, f32)
  tt.func private @h()
  tt.func @f(%arg0: i32) {
    %0:2 = tt.call @g(%arg0) {a = 1 : i32} : (i32) -> (i32, f32)
    tt.call @h() : () -> ()
    tt.return
  }""",
]


@pytest.mark.parametrize("functions", FUNCTIONS)
def test_prints_as_written(functions: str):
    text = f"module {{\n{functions}\n}}\n"
    assert print_module(parse(text), flavour=PLAIN) == text


@pytest.mark.parametrize("functions", FUNCTIONS)
def test_survives_generic_form(functions: str):
    text = f"module {{\n{functions}\n}}\n"
    generic = print_module(parse(text), generic=True, flavour=PLAIN)
    assert print_module(parse(generic), flavour=PLAIN) == text


def test_agrees_with_triton():
    for functions in FUNCTIONS:
        check_same_as_triton(f"module {{\n{functions}\n}}\n")


def test_arguments_keep_their_locations():
    text = """\
#loc = loc("a.py":1:2)
#loc1 = loc("x"(#loc))
#loc2 = loc("y"(#loc))
module {
  tt.func @f(%x: i32 loc("x"(#loc)), %y: i32 {a.b} loc("y"(#loc))) {
    tt.return loc(#loc)
  } loc(#loc)
} loc(#loc)
"""
    assert print_module(parse(text), locations=True) == text


def test_names_end_with_the_function():
    """Two functions may use one name, and none sees the other's."""
    parse("tt.func @f(%x: i32) { tt.return }\ntt.func @g(%x: f32) { tt.return }")
    assert messages(
        "tt.func @f(%x: i32) { tt.return }\ntt.func @g() -> i32 { tt.return %x : i32 }"
    ) == ["use of undeclared SSA value name '%x'"]


FAULTS = [
    ("tt.func @f(i32)", "symbol declaration cannot have public visibility"),
    ("tt.func @f(%a: i32 {x = 1}) { tt.return }", "arguments may only have dialect attributes"),
    (
        "tt.func private @f() -> (i32 {x = 1})",
        "results may only have dialect attributes",
    ),
    (
        '"tt.func"() <{function_type = (i32) -> (), sym_name = "f", arg_attrs = [{}, {}]}> ({\n^bb0(%a: i32):\n  tt.return\n}) : () -> ()',
        "expects argument attribute array to have the same number of elements as the number of function arguments, got 2, but expected 1",
    ),
    (
        '"tt.func"() <{function_type = (i32) -> (), sym_name = "f"}> ({\n^bb0(%a: f32):\n  tt.return\n}) : () -> ()',
        "type of entry block argument #0('f32') must match the type of the corresponding argument in function signature('i32')",
    ),
    (
        '"tt.func"() <{function_type = (i32) -> (), sym_name = "f"}> ({\n^bb0:\n  tt.return\n}) : () -> ()',
        "entry block must have 1 arguments to match function signature",
    ),
    ("tt.func @f() { }", "expected non-empty function body"),
    ("tt.func @f(%a: i32) { }", "empty block: expect at least a terminator"),
    (
        "tt.func @f() {\n  tt.func @g() { tt.return }\n  tt.return\n}",
        "expects parent op 'builtin.module'",
    ),
    ("tt.func @f() { tt.return }\ntt.func @f() { tt.return }", "redefinition of symbol named 'f'"),
    (
        "tt.func @f() -> i32 { tt.return }",
        "has 0 operands, but enclosing function (@f) returns 1",
    ),
    (
        "tt.func @f(%a: i32) -> f32 { tt.return %a : i32 }",
        "type of return operand 0 ('i32') doesn't match function result type ('f32') in function @f",
    ),
    (
        "tt.func @f() {\n  tt.call @g() : () -> ()\n  tt.return\n}",
        "'g' does not reference a valid function",
    ),
    (
        "tt.func private @g(i32)\ntt.func @f() {\n  tt.call @g() : () -> ()\n  tt.return\n}",
        "incorrect number of operands for callee",
    ),
    (
        "tt.func private @g(i32)\ntt.func @f(%a: f32) {\n  tt.call @g(%a) : (f32) -> ()\n  tt.return\n}",
        "operand type mismatch: expected operand type 'i32', but provided 'f32' for operand number 0",
    ),
    (
        "tt.func private @g() -> i32\ntt.func @f() {\n  tt.call @g() : () -> ()\n  tt.return\n}",
        "incorrect number of results for callee",
    ),
    (
        "tt.func private @g() -> i32\ntt.func @f() {\n  %0 = tt.call @g() : () -> f32\n  tt.return\n}",
        "result type mismatch at index 0",
    ),
    ("tt.func @f(%a: i32, f32) { tt.return }", "expected SSA identifier"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_message(text: str, message: str):
    found = messages(text)
    assert [each for each in found if message in each] != [], found


@pytest.mark.parametrize(("text", "message"), FAULTS)
def test_triton_says_the_same(text: str, message: str, capfd: pytest.CaptureFixture[str]):
    found = triton_messages(text, capfd)
    assert [each for each in found if message in each] != [], found


def test_result_attributes_are_counted():
    """Triton reads beyond the array here."""
    text = '"tt.func"() <{function_type = () -> i32, sym_name = "f", res_attrs = [], sym_visibility = "private"}> ({}) : () -> ()'
    assert messages(text) == [
        "'tt.func' op expects result attribute array to have the same number of elements as the "
        "number of function results, got 0, but expected 1"
    ]


def test_properties_are_not_attributes():
    found = messages('tt.func @f() attributes {sym_name = "x"} { tt.return }')
    assert "'sym_name'" in found[0]


def test_types_without_names_stay_without():
    assert messages("tt.func private @f(f32, %a: i32)") == ["expected type"]


# Building.


def test_build_function_and_call():
    function = FuncOp(
        "kernel",
        ([PtrType.get(f32), i32], []),
        visibility="public",
        arg_attrs=[{"tt.divisibility": IntegerAttr(16, i32)}, {}],
        attributes={"noinline": IntegerAttr.from_bool(False)},
    )
    helper = FuncOp.declare("helper", [i32], [f32])
    call = CallOp(helper, [function.args[1]], [f32])
    function.body.block.add_ops([call, ReturnOp()])
    assert (
        print_module(ModuleOp([function, helper]), flavour=PLAIN)
        == """\
module {
  tt.func public @kernel(%arg0: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %arg1: i32) attributes {noinline = false} {
    %0 = tt.call @helper(%arg1) : (i32) -> f32
    tt.return
  }
  tt.func private @helper(i32) -> f32
}
"""
    )
    assert function.argument_attributes(0) == {"tt.divisibility": IntegerAttr(16, i32)}
    assert function.argument_attributes(1) == {}
    assert helper.argument_attributes(0) == {}
    assert (function.is_public, function.is_declaration) == (True, False)
    assert (helper.is_public, helper.is_declaration) == (False, True)


def test_without_visibility_a_function_is_public():
    assert FuncOp("f", FunctionType.from_lists([], [])).is_public


# What other code sees.


def test_callable():
    module = parse("tt.func private @g(i32)\ntt.func @f(%a: i32) -> i32 { tt.return %a : i32 }")
    declared, defined = module.body.block.ops
    assert function_body(declared) is None
    assert function_body(defined) is defined.body
    assert [op.name for op in returns(defined)] == ["tt.return"]
    trait = defined.get_trait(CallableOpInterface)
    assert trait.get_argument_types(defined) == (i32,) == trait.get_result_types(defined)
    assert SymbolTable.lookup_symbol(module, StringAttr("f")) is defined


def test_call_is_call_like_and_never_dropped():
    call = CallOp("g", [], [])
    trait = call.get_trait(CallLike)
    assert trait.callee(call).root_reference.data == "g"
    assert list(trait.arguments(call)) == []
    assert not is_removable(call)
