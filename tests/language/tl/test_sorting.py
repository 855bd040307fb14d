"""Sorting and moving along an axis: the same network as Triton's."""

import pytest

from tests.language.tl.against_triton import check_expression, kernel_of, our_module
from tilewright.ir.diagnostics import CompileError


@pytest.mark.parametrize(
    "call",
    [
        "tl.sort(x)",
        "tl.sort(x, descending=True)",
        "tl.sort(x, 1, False)",
        "tl.sort(x, descending=1)",
        "tl.topk(x, 4)",
        "tl.topk(x, 1)",
        "tl.topk(x, 8, descending=False)",
        "tl.topk(x, 8, dim=1)",
        "tl.bitonic_merge(x)",
        "tl.bitonic_merge(x, descending=True)",
        "tl.flip(x)",
        "tl.flip(x, 0)",
        "tl.flip(x, -2)",
        "x.flip(1)",
    ],
)
@pytest.mark.parametrize("element", ["fp32", "i32"])
def test_along_the_last_axis(call: str, element: str) -> None:
    check_expression(call, {"x": f"{element}[4, 8]"})


@pytest.mark.parametrize("element", ["fp16", "bf16", "i8", "u16", "i64", "fp64"])
@pytest.mark.parametrize("call", ["tl.sort(x)", "tl.topk(x, 4)", "tl.flip(x)"])
def test_of_other_element_types(call: str, element: str) -> None:
    check_expression(call, {"x": f"{element}[16]"})


@pytest.mark.parametrize("call", ["tl.sort(x)", "tl.sort(x, descending=True)", "tl.topk(x, 1)"])
def test_of_one_element(call: str) -> None:
    check_expression(call, {"x": "fp32[1]"})
    check_expression(call, {"x": "fp32[4, 1]"})


@pytest.mark.parametrize(
    "call",
    [
        "tl.histogram(x, 16)",
        "x.histogram(64)",
        "tl.histogram(x, 32, mask=x > 3)",
        "tl.histogram(x, 32, mask=True)",
    ],
)
@pytest.mark.parametrize("element", ["i32", "u32"])
def test_histogram(call: str, element: str) -> None:
    check_expression(call, {"x": f"{element}[128]"})


@pytest.mark.parametrize(
    "call", ["tl.gather(x, i, 0)", "tl.gather(x, i, -2)", "x.gather(i, axis=0)"]
)
@pytest.mark.parametrize("element", ["fp32", "i8"])
def test_gather(call: str, element: str) -> None:
    check_expression(call, {"x": f"{element}[16, 8]", "i": "i32[4, 8]"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tl.sort(x, 0)", "only minor dimension is currently supported: sort along dim=1, got 0"),
        ("tl.bitonic_merge(x, 0)", "only minor dimension is currently supported"),
        ("tl.topk(x, 3)", "topk: k must be a power of two, got 3"),
        ("tl.topk(x, 0)", "topk: k must be greater than 0, got 0"),
        ("tl.topk(x, 32)", "topk: k must not exceed the size of the selected dimension, got 32 > 8"),
        ("tl.flip(x, 2)", "flip: dim must be None or in [-rank, rank), got 2 for rank 2"),
        ("tl.histogram(x, 16)", "histogram only supports 1D input, got fp32[4, 8]: use tl.ravel"),
        ("tl.histogram(tl.ravel(x), 16)", "histogram only supports 32-bit integer input, but got fp32"),
        ("tl.gather(x, x, 0)", "index must be an integer tensor, got fp32[4, 8]"),
        ("tl.gather(x, tl.ravel(i), 0)", "source and index tensors must have the same rank"),
        ("tl.gather(x, i, 1)", "index dim 0 must match the corresponding source dim: got 2, expected 4"),
        ("tl.gather(x, i, 2)", "gather axis 2 must be < source rank (2)"),
    ],
)  # fmt: skip
def test_wrong_calls_say_what_is_wrong(call: str, message: str) -> None:
    source, signature = kernel_of(call, {"x": "fp32[4, 8]", "i": "i32[2, 8]"})
    with pytest.raises(CompileError) as caught:
        our_module(source, signature, {})
    assert message in str(caught.value)
