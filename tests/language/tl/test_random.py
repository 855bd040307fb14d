"""Philox and what is made of its bits: the same ops as Triton's."""

import numpy as np
import pytest

from tests.language.tl.against_triton import check_expression, kernel_of, our_module
from tilewright.ir.diagnostics import CompileError
from tilewright.language.tl import random


@pytest.mark.parametrize("function", ["randint", "rand", "randn"])
@pytest.mark.parametrize("offset", ["i32[32]", "u32[32]", "i64[32]", "i32"])
def test_one_block(function: str, offset: str) -> None:
    check_expression(f"tl.{function}(s, x)", {"s": "i32", "x": offset})


@pytest.mark.parametrize("function", ["randint4x", "rand4x", "randn4x"])
def test_four_blocks(function: str) -> None:
    check_expression(f"tl.{function}(s, x)", {"s": "i64", "x": "i32[32]"}, results=4)


@pytest.mark.parametrize("seed", ["1234", "0x123456789", "tl.program_id(0)"])
def test_seeds(seed: str) -> None:
    check_expression(f"tl.rand({seed}, x, n_rounds=7)", {"x": "i32[32]"})


@pytest.mark.parametrize("element", ["u32", "i32", "u64", "i64"])
def test_uniform_floats(element: str) -> None:
    check_expression("tl.uint_to_uniform_float(x)", {"x": f"{element}[32]"})


def test_philox_of_both_widths() -> None:
    check_expression("tl.philox(s, x, x, 0, 1)", {"s": "i32", "x": "i32[32]"}, results=4)
    check_expression("tl.philox(s, x, x, x, x, 3)", {"s": "i64", "x": "u64[32]"}, results=4)
    check_expression("tl.philox_impl(x, x, x, x, k, k, 4)", {"x": "u32[32]", "k": "u32"}, results=4)


def test_normal_pairs() -> None:
    check_expression("tl.pair_uniform_to_normal(u, v)", {"u": "fp32[8]", "v": "fp32[8]"}, results=2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tl.rand(x, x)", "the seed must be an integer, got fp32[8]"),
        ("tl.philox(1, h, h, h, h)", "philox counters must have 32 or 64 bits, got int16"),
        ("tl.uint_to_uniform_float(x)", "random bits must be 32- or 64-bit integers, got fp32"),
        ("tl.philox_impl(i, i, i, i, 1, 2)", "philox counters must be uint32 or uint64, got int32"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call: str, message: str) -> None:
    variables = {"x": "fp32[8]", "h": "i16[8]", "i": "i32[8]"}
    source, signature = kernel_of(call, variables)
    with pytest.raises(CompileError) as caught:
        our_module(source, signature, {})
    assert message in str(caught.value)


def test_the_largest_integer_stays_below_one() -> None:
    scales = random._UNIFORM
    for element, bits in ((random.int32, 31), (random.int64, 63)):
        largest = np.float32(2**bits - 1)
        assert largest * np.float32(scales[element]) < 1
