"""Assembly and scalar functions applied to every element: the same ops as Triton's."""

import pytest

from tests.language.tl.against_triton import (
    check,
    check_expression,
    compare,
    kernel_of,
    our_module,
    simplified_by_triton,
    triton_source,
)
from tilewright.ir.diagnostics import CompileError
from tilewright.ir.text import print_module

X = {"x": "i32[64]", "y": "i32[64]", "h": "fp16[64]"}


@pytest.mark.parametrize(
    "call",
    [
        'tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r,r", [x, y], tl.int32, True, 1)',
        'tl.inline_asm_elementwise("add.s32 $0, $1, $2;", "=r,r,r", [x, 3], dtype=tl.int32, is_pure=True, pack=1)',
        'tl.inline_asm_elementwise("mov.u32 $0, 5;", "=r", [], tl.int32, is_pure=False, pack=1)',
        'tl.inline_asm_elementwise("// nothing", "=r,r", [h], dtype=tl.float16, is_pure=True, pack=2)',
        'tl.inline_asm_elementwise("a", "=r,r,r", [x[:, None], y[None, :]], tl.int32, True, 4)',
        'tl.inline_asm_elementwise("a", "=r,r,r,r", [x[None, :], 1, y[:, None]], tl.int32, True, 1)',
    ],
)
def test_one_result(call: str) -> None:
    check_expression(call, X)


def test_several_results() -> None:
    check_expression(
        'tl.inline_asm_elementwise("a; b;", "=r,=r,r,r", [x, y], (tl.int32, tl.float32), True, 1)',
        X,
        results=2,
    )


FUNCTIONS = """
@jit
def selu(x, alpha):
    result = x
    if x <= 0.0:
        result = alpha * (tl.exp(x) - 1.0)
    return result

@jit
def divmod(a, b):
    return a // b, a % b

@jit
def two(a0, a1, b0, b1):
    return a0 + b0, a1 * b1

@jit
def early(x):
    if x > 0.0:
        return x
    return -x
"""

FLOATS = {"x": "fp32[64]", "a": "fp32", "i": "i32[64]", "j": "i32[64]"}


@pytest.mark.parametrize(
    ("call", "results"),
    [
        ("tl.map_elementwise(selu, x, a)", 1),
        ("tl.map_elementwise(selu, x[:, None], x[None, :])", 1),
        ("tl.map_elementwise(divmod, i, j)", 2),
        ("tl.map_elementwise(two, i, j, pack=2)", 2),
    ],
)
def test_scalar_functions(call: str, results: int) -> None:
    if "two" in call:
        check_expression(call + "[0]", FLOATS, functions=FUNCTIONS)
        return
    check_expression(call, FLOATS, results=results, functions=FUNCTIONS)


def test_a_scalar_function_with_several_returns() -> None:
    source, signature = kernel_of("tl.map_elementwise(early, x)", FLOATS, functions=FUNCTIONS)
    expected = simplified_by_triton(triton_source(source, signature, {}))
    found = simplified_by_triton(print_module(our_module(source, signature, {})))
    assert "cf.cond_br" in expected
    compare(expected, found)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tl.map_elementwise(selu)", "map_elementwise must have at least 1 input tensor"),
        ("tl.map_elementwise(divmod, i, j, pack=3)", "pack must be a power of 2, got 3"),
        ("tl.map_elementwise(selu, a, a)", "map_elementwise takes blocks"),
        ("tl.map_elementwise(early, x, pack=2)", "early"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call: str, message: str) -> None:
    source, signature = kernel_of(call, FLOATS, functions=FUNCTIONS)
    with pytest.raises(CompileError) as caught:
        our_module(source, signature, {})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        "tl.extra.cuda.globaltimer()",
        "tl.extra.cuda.smid()",
        "tl.extra.cuda.num_warps()",
        "tl.extra.cuda.num_threads()",
    ],
)
def test_what_the_device_says_about_itself(line: str) -> None:
    check_expression(line, {}, num_warps=8)


def test_dependent_launches() -> None:
    check(
        """
        @jit
        def kernel(x):
            tl.extra.cuda.gdc_wait()
            tl.store(x, 1.0)
            tl.extra.cuda.gdc_launch_dependents()
        """,
        dict(x="*fp32"),
    )
