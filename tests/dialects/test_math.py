"""The text and the checks of ``math``; Triton is the judge where it is installed."""

import pytest
from xdsl.dialects.builtin import TensorType, VectorType, f32, i1, i32
from xdsl.ir import Block
from xdsl.traits import is_side_effect_free, is_speculatable

from tests.dialects.text_support import (
    check_same_as_triton,
    messages,
    printed_body,
    returning,
    through_generic_form,
    triton_messages,
)
from tilewright.dialects import math
from tilewright.dialects.arith import FastMathFlagsAttr
from tilewright.dialects.math import OURS, Math

ARGUMENTS = ("f32", "i32", "tensor<4xf32>", "tensor<4xi32>", "vector<4xf32>")

UNARY = (
    *("absf", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh"),
    *("erf", "erfc", "exp", "exp2", "expm1", "floor", "log", "log10", "log1p", "log2", "round"),
    *("roundeven", "rsqrt", "sin", "sinh", "softsign", "sqrt", "tan", "tanh", "trunc"),
)
BINARY = ("atan2", "copysign", "powf")
TESTS = ("isfinite", "isinf", "isnan", "isnormal")
INTEGER = ("absi", "ctlz", "ctpop", "cttz")

LINES = [
    *(f"%0 = math.{op} %arg0 : f32" for op in UNARY),
    *(f"%0 = math.{op} %arg2 fastmath<fast> {{a}} : tensor<4xf32>" for op in UNARY),
    *(f"%0 = math.{op} %arg4 : vector<4xf32>" for op in UNARY),
    *(f"%0 = math.{op} %arg0, %arg0 : f32" for op in BINARY),
    *(f"%0 = math.{op} %arg2, %arg2 fastmath<nnan> {{a}} : tensor<4xf32>" for op in BINARY),
    *(f"%0 = math.{op} %arg0 : f32" for op in TESTS),
    *(f"%0 = math.{op} %arg2 {{a}} : tensor<4xf32>" for op in TESTS),
    "%0 = math.isnan %arg0 {fastmath = #arith.fastmath<ninf>} : f32",
    *(f"%0 = math.{op} %arg1 : i32" for op in INTEGER),
    *(f"%0 = math.{op} %arg3 {{a}} : tensor<4xi32>" for op in INTEGER),
    "%0 = math.fma %arg0, %arg0, %arg0 : f32",
    "%0 = math.fma %arg2, %arg2, %arg2 fastmath<fast> {a} : tensor<4xf32>",
    "%0 = math.clampf %arg0 to [%arg0, %arg0] : f32",
    "%0 = math.clampf %arg2 to [%arg2, %arg2] fastmath<nsz> {a} : tensor<4xf32>",
    "%sin, %cos = math.sincos %arg0 : f32",
    "%sin, %cos = math.sincos %arg2 fastmath<fast> {a} : tensor<4xf32>",
    "%0 = math.fpowi %arg0, %arg1 : f32, i32",
    "%0 = math.fpowi %arg2, %arg3 fastmath<fast> {a} : tensor<4xf32>, tensor<4xi32>",
    "%0 = math.ipowi %arg1, %arg1 : i32",
    "%0 = math.ipowi %arg3, %arg3 {a} : tensor<4xi32>",
]


@pytest.mark.parametrize("line", LINES)
def test_line_comes_back(line: str):
    text = returning(line, *ARGUMENTS)
    assert printed_body(text) == [line]
    assert through_generic_form(text) == [line]


def test_triton_prints_every_line_the_same():
    renamed = [
        line.replace("%sin, %cos", f"%r{index}:2").replace("%0 =", f"%r{index} =")
        for index, line in enumerate(LINES)
        if line.partition(" = ")[2].split()[0] not in OURS
    ]
    check_same_as_triton(returning("\n".join(renamed), *ARGUMENTS))


def test_every_op_has_a_line():
    shown = {line.partition(" = ")[2].split()[0] for line in LINES}
    assert {op.name for op in Math.operations} == shown


FAULTS = [
    (
        '%0 = "math.exp"(%arg1) : (i32) -> i32',
        "operand #0 must be floating-point-like, but got 'i32'",
    ),
    (
        '%0 = "math.exp"(%arg0) : (f32) -> f64',
        "requires the same type for all operands and results",
    ),
    (
        '%0 = "math.absi"(%arg0) : (f32) -> f32',
        "operand #0 must be signless-integer-like, but got 'f32'",
    ),
    (
        '%0 = "math.fma"(%arg0, %arg0, %arg2) : (f32, f32, tensor<4xf32>) -> f32',
        "requires the same type for all operands and results",
    ),
    (
        '%0 = "math.clampf"(%arg0, %arg0, %arg2) : (f32, f32, tensor<4xf32>) -> f32',
        "requires the same type for all operands and results",
    ),
    (
        '%0:2 = "math.sincos"(%arg0) : (f32) -> (f32, f64)',
        "requires the same type for all operands and results",
    ),
    (
        '%0 = "math.fpowi"(%arg2, %arg1) : (tensor<4xf32>, i32) -> tensor<4xf32>',
        "requires the same shape for all operands and results",
    ),
    (
        '%0 = "math.fpowi"(%arg0, %arg0) : (f32, f32) -> f32',
        "operand #1 must be signless-integer-like, but got 'f32'",
    ),
    (
        '%0 = "math.fpowi"(%arg0, %arg1) : (f32, i32) -> f64',
        "failed to verify that all of {lhs, result} have same type",
    ),
    ('%0 = "math.isnan"(%arg0) : (f32) -> i32', "result #0 must be bool-like, but got 'i32'"),
    (
        '%0 = "math.isnan"(%arg2) : (tensor<4xf32>) -> i1',
        "failed to verify that result type has i1 element type and same shape as operands",
    ),
    (
        '%0 = "math.isnan"(%arg1) : (i32) -> i1',
        "operand #0 must be floating-point-like, but got 'i32'",
    ),
]


@pytest.mark.parametrize(("line", "message"), FAULTS)
def test_fault(line: str, message: str, capfd: pytest.CaptureFixture[str]):
    text = returning(line, *ARGUMENTS)
    name = line.split('"')[1]
    expected = f"'{name}' op {message}"
    assert messages(text) == [expected]
    assert triton_messages(text, capfd) == [expected]


def test_fault_in_an_op_that_triton_lacks():
    text = returning('%0 = "math.softsign"(%arg1) : (i32) -> i32', *ARGUMENTS)
    assert messages(text) == [
        "'math.softsign' op operand #0 must be floating-point-like, but got 'i32'"
    ]


def test_construction():
    tensor, vector = TensorType(f32, [4]), VectorType(f32, [4])
    x, t, v, n = Block(arg_types=[f32, tensor, vector, i32]).args
    fast = FastMathFlagsAttr("fast")
    assert math.Exp2Op(t, fast).fastmath == fast
    assert math.Exp2Op(t).result.type is tensor
    assert math.PowfOp(v, v).result.type is vector
    assert math.FmaOp(x, x, x).result.type is f32
    assert math.ClampfOp(x, x, x).result.type is f32
    assert [r.type for r in math.SincosOp(t).results] == [tensor, tensor]
    assert math.FpowiOp(x, n).result.type is f32
    assert math.IsnanOp(v).result.type == VectorType(i1, [4])
    assert math.IpowiOp(n, n).result.type is i32
    assert math.CtlzOp(n).result.type is i32


def test_all_ops_are_pure():
    x = Block(arg_types=[f32]).args[0]
    for op in Math.operations:
        instance = op.create(operands=[x])
        assert is_side_effect_free(instance) and is_speculatable(instance), op.name
