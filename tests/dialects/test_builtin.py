"""Modules, conversion casts and the attributes every dialect uses, as Triton prints them."""

import pytest

from tests.dialects.text_support import (
    check_same_as_triton,
    parse,
    printed_body,
    returning,
)
from tilewright.ir.text import print_module


@pytest.mark.parametrize(
    "text",
    [
        "module {\n}\n",
        "module @name {\n}\n",
        'module @"a name" {\n}\n',
        'module attributes {a.b = 1 : i32, "ttg.num-warps" = 4 : i32} {\n}\n',
        'module @name attributes {a.b, sym_visibility = "private"} {\n  module {\n  }\n  module @inner attributes {a.b} {\n    %0 = ub.poison : i32\n  }\n}\n',
        "module {\n  %0 = ub.poison : i32\n  %1:2 = unrealized_conversion_cast %0, %0 : i32, i32 to i64, i32 {a}\n  %2 = unrealized_conversion_cast to i64\n}\n",
        "module {\n  tt.func @f(%arg0: i32) {\n    %0 = builtin.unrealized_conversion_cast %arg0 : i32 to i64\n    tt.return\n  }\n}\n",
    ],
)
def test_builtin_text(text: str):
    assert print_module(parse(text)) == text
    check_same_as_triton(text)


ATTRIBUTES = [
    "unit",
    "true",
    "1 : i64",
    "-3 : i8",
    "3 : si8",
    "200 : ui8",
    "-1 : index",
    "1.500000e+00 : f64",
    "0x7FC00000 : f32",
    '"text \\22 \\0A \\C3\\A9"',
    "@symbol",
    "@outer::@inner",
    "[]",
    "[1, -2, 1.500000e+00, 3 : i32, 2.500000e+00 : f32, true, unit]",
    "[[1], {a = 1 : i64}]",
    '{a = [1], b = {}, "c d" = "e"}',
    "array<i32>",
    "array<i64: 1, -2>",
    "array<f32: 1.000000e+00>",
    "array<i1: true, false>",
    "dense<1> : tensor<2xi64>",
    "dense<> : tensor<0xi32>",
    "dense<[[1, 2], [3, 4]]> : tensor<2x2xi8>",
    "i32",
    "(i32) -> (f32, f32)",
    "tensor<4x?xf32>",
    "vector<4x[2]xi32>",
    "memref<4x4xf32, strided<[1, ?], offset: ?>>",
    "tuple<i32, f32>",
    "none",
]


@pytest.mark.parametrize("attribute", ATTRIBUTES)
def test_attribute_comes_back(attribute: str):
    line = f"%c0_i32 = arith.constant {{a = {attribute}}} 0 : i32"
    if attribute == "unit":
        line = "%c0_i32 = arith.constant {a} 0 : i32"
    assert printed_body(returning(line)) == [line]


def test_triton_prints_every_attribute_the_same():
    pairs = ", ".join(f"a{index} = {text}" for index, text in enumerate(ATTRIBUTES))
    check_same_as_triton(returning(f"%0 = arith.constant {{{pairs}}} 0 : i32"))
