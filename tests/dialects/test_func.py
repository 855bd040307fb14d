"""Functions around tile kernels: text, signatures, calls and returns."""

import pytest

from tests.dialects.text_support import messages, parse
from tilewright.dialects.func import CallOp, FuncOp, ReturnOp
from tilewright.ir.text import print_module

SAME_TEXT = [
    "func.func @f() {\n    func.return\n  }",
    'func.func private @f(%arg0: i32 {tile.name = "n"}, %arg1: f32) attributes {tile.entry} {\n    func.return\n  }',
    "func.func @f(%arg0: i32) -> i32 {\n    func.return %arg0 : i32\n  }",
    "func.func private @g(i32, f32) -> (i32, f32)",
    'func.func @f() -> (i32 {tile.name = "x"}) {\n    %c1_i32 = arith.constant 1 : i32\n    func.return %c1_i32 : i32\n  }',
]


@pytest.mark.parametrize("text", SAME_TEXT)
def test_text_comes_back(text: str):
    module = parse(text)
    assert print_module(module) == f"module {{\n  {text}\n}}\n"
    assert print_module(parse(print_module(module, generic=True))) == print_module(module)


def test_calls():
    text = (
        "func.func private @g(i32) -> f32\n"
        "func.func @f(%n: i32) -> f32 {\n  %0 = func.call @g(%n) : (i32) -> f32\n  func.return %0 : f32\n}"
    )
    module = parse(text)
    assert "%0 = func.call @g(%arg0) : (i32) -> f32" in print_module(module)
    (call,) = [op for op in module.walk() if isinstance(op, CallOp)]
    assert call.callee.root_reference.data == "g"


REFUSED = {
    "func.func @f() -> i32 {\n  func.return\n}": "has 0 operands, but enclosing function (@f) returns 1",
    "func.func @f(%x: f32) -> i32 {\n  func.return %x : f32\n}": "type of return operand 0 ('f32') doesn't match function result type ('i32') in function @f",
    "func.func @f()": "symbol declaration cannot have public visibility",
    "func.func @f() {\n  func.call @nowhere() : () -> ()\n  func.return\n}": "nowhere",
    "func.func @f(%x: f32 {name = 1}) {\n  func.return\n}": "arguments may only have dialect attributes",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=range(len(REFUSED)))
def test_message(text: str, message: str):
    (found,) = messages(text)
    assert message in found


def test_built():
    function = FuncOp("f", ([], []), visibility="private")
    function.body.block.add_op(ReturnOp())
    assert not function.is_public
    assert not function.is_declaration
    assert FuncOp.declare("g", []).is_declaration
