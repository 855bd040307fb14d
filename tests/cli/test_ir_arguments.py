"""Words on the command line as arguments of a kernel."""

import ml_dtypes
import numpy as np
import pytest

from tilewright.cli.ir_arguments import (
    ArgumentError,
    Formal,
    Spec,
    bind,
    formals_of,
    loaded_value,
    parse_spec,
    value_of,
)
from tilewright.dialects import make_context
from tilewright.dialects.tt.functions import FuncOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.targets.numpy.api import Buffer, Descriptor


def formals(signature: str) -> tuple[Formal, ...]:
    text = f"tt.func @f({signature}) {{\n  tt.return\n}}\n"
    source = parse_source(make_context(), text, "f.ttir", DiagnosticEngine())
    assert source is not None
    (function,) = (op for op in source.module.ops if isinstance(op, FuncOp))
    return formals_of(function)


def value(type: str, text: str):
    (formal,) = formals(f"%a: {type}")
    return value_of(formal, parse_spec(text), np.random.default_rng(0))


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("f32[1024]", Spec("f32", (1024,), None)),
        ("f32[64,128]:zeros", Spec("f32", (64, 128), "zeros")),
        ("fp16[64x128]", Spec("f16", (64, 128), None)),
        ("[8]:3", Spec(None, (8,), "3")),
        ("f32[]", Spec("f32", (), None)),
        ("i32:1000", Spec("i32", None, "1000")),
        ("-0.5", Spec(None, None, "-0.5")),
    ],
)
def test_specs(text, spec):
    assert parse_spec(text) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("f33[8]", "no element type 'f33'; known: i1, i8, i16, i32, i64, f16, f32, f64, bf16, "),
        ("f32[8,]", "'f32[8,]': a shape is written as [64,128]"),
        ("f32[8", "'f32[8': an array is written as f32[64,128] or f32[64,128]:zeros"),
    ],
)
def test_what_is_no_spec(text, message):
    with pytest.raises(ArgumentError) as caught:
        parse_spec(text)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        ("!tt.ptr<f32>", "f32[2,2]:arange", np.array([[0, 1], [2, 3]], np.float32)),
        ("!tt.ptr<f32>", "[3]:ones", np.ones(3, np.float32)),
        ("!tt.ptr<i32>", "i32[3]", np.zeros(3, np.int32)),
        ("!tt.ptr<i32>", "u32[2]:7", np.full(2, 7, np.uint32)),
        ("!tt.ptr<bf16>", "bf16[2]:1.5", np.full(2, 1.5, ml_dtypes.bfloat16)),
        ("!tt.ptr<i1>", "i1[2]:true", np.array([True, True])),
        ("!tt.ptr<f8E4M3FN>", "f8e4m3fn[1]:2", np.full(1, 2, ml_dtypes.float8_e4m3fn)),
    ],
)
def test_arrays(type, text, expected):
    found = value(type, text)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert (found == expected).all()


def test_random_arrays_are_of_their_kind():
    floats = value("!tt.ptr<f16>", "f16[1000]")
    assert floats.dtype == np.float16
    assert 0.8 < floats.std() < 1.2
    integers = value("!tt.ptr<i64>", "i64[1000]:random")
    assert integers.dtype == np.int64
    assert (integers.min(), integers.max()) == (0, 99)
    assert set(value("!tt.ptr<i1>", "[100]:random").tolist()) == {True, False}


@pytest.mark.parametrize(
    ("type", "text", "expected"),
    [
        ("i32", "1000", np.int32(1000)),
        ("i32", "i32:0x10", np.int32(16)),
        ("i32", "0xffffffff", np.int32(-1)),
        ("i64", "-9223372036854775808", np.int64(-(2**63))),
        ("f32", "f32:0.5", np.float32(0.5)),
        ("bf16", "1.5", ml_dtypes.bfloat16(1.5)),
        ("i1", "false", np.bool_(False)),
    ],
)
def test_numbers(type, text, expected):
    found = value(type, text)
    assert type == "i1" or found.dtype == expected.dtype
    assert found == expected


@pytest.mark.parametrize(
    ("type", "text", "message"),
    [
        ("i32", "i32[8]", "a is a scalar; write for example --arg a=i32:1024"),
        ("f32", "f32:", "a: '' is not a value of type f32"),
        ("i32", "1.5", "a: '1.5' is not a value of type i32"),
        ("i8", "256", "a: 256 does not fit into i8"),
        ("i32", "i64:1", "a is i32 in the kernel, not i64"),
        ("!tt.ptr<f32>", "f32:1", "a is an array; write for example --arg 'a=f32[1024]'"),
        ("!tt.ptr<f32>", "f16[8]", "a is f32 in the kernel, not f16"),
        (
            "!tt.ptr<f32>",
            "f32[8]:zeroes",
            "a: 'zeroes' is not a value or one of zeros, ones, random, arange, empty",
        ),
    ],
)
def test_values_that_do_not_fit(type, text, message):
    with pytest.raises(ArgumentError) as caught:
        value(type, text)
    assert str(caught.value) == message


def test_an_argument_nobody_can_give():
    with pytest.raises(ArgumentError, match="argument t is a tensor"):
        formals("%t: tensor<4xi32>")


def test_arguments_come_in_the_order_of_the_function():
    parameters = formals("%n: i32, %x: !tt.ptr<f32>, %0: !tt.ptr<f32>")
    assert [formal.name for formal in parameters] == ["n", "x", "arg2"]
    x, y = np.zeros(2, np.float32), np.ones(2, np.float32)
    n, first, second = bind("f", parameters, {"arg2": y, "x": x, "n": np.int32(3)}, {"arg2"})
    assert n == 3
    assert first == Buffer("x", x)
    assert isinstance(second, Buffer)
    assert second.array is y
    assert not second.initialised


def test_a_descriptor_brings_its_sizes_and_strides():
    signature = "%d: !tt.tensordesc<8x16xf16>, %h: i32, %w: i32, %s: i64, %t: i64, %n: i32"
    array = np.zeros((32, 64), np.float16)
    values = {"d": array, "n": np.int32(5)}
    found = bind("f", formals(signature), values, set())
    assert found[0] == Descriptor(Buffer("d", array), (32, 64), (64, 1))
    assert [int(number) for number in found[1:]] == [32, 64, 64, 1, 5]
    with pytest.raises(ArgumentError, match="give it an array of 2 dimensions, not 1"):
        bind("f", formals("%d: !tt.tensordesc<8x16xf16>"), {"d": array[0]}, set())


def test_arrays_from_files():
    (pointer,) = formals("%a: !tt.ptr<bf16>")
    stored = np.array([1.5, -2], ml_dtypes.bfloat16)
    loaded = loaded_value(pointer, stored.view("V2"))
    assert loaded.dtype == stored.dtype
    assert (loaded == stored).all()
    with pytest.raises(ArgumentError, match="a is bf16, the file has float32"):
        loaded_value(pointer, np.zeros(2, np.float32))
    (number,) = formals("%a: i32")
    assert loaded_value(number, np.array(7, np.int64)) == np.int32(7)
    with pytest.raises(ArgumentError, match="a is a scalar, the file has an array of"):
        loaded_value(number, np.zeros(2, np.int32))
