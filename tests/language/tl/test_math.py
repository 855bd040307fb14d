"""Functions of floats: the same op as Triton's for each, and which types they take."""

import numpy as np
import pytest

from tests.language.tl.against_triton import check_expression, kernel_of, our_module
from tilewright.ir.diagnostics import CompileError

UNARY = ("exp", "exp2", "log", "log2", "cos", "sin", "sqrt", "rsqrt", "erf", "floor", "ceil")


@pytest.mark.parametrize("element", ["fp32[32]", "fp64[32]", "fp32"])
@pytest.mark.parametrize("function", UNARY)
@pytest.mark.parametrize("spelling", ["tl.{}(x)", "tl.math.{}(x)", "x.{}()"])
def test_unary(function: str, element: str, spelling: str) -> None:
    check_expression(spelling.format(function), {"x": element})


@pytest.mark.parametrize(
    "call", ["tl.sqrt_rn(x)", "x.sqrt_rn()", "tl.exp(1.5)", "tl.math.log(2.0)"]
)
def test_precise_root_and_constants(call: str) -> None:
    check_expression(call, {"x": "fp32[32]"})


@pytest.mark.parametrize(
    "element", ["fp16", "bf16", "fp32", "fp64", "fp8e5", "i8", "i32", "u32", "i64"]
)
def test_abs(element: str) -> None:
    check_expression("tl.abs(x)", {"x": f"{element}[32]"})


@pytest.mark.parametrize(
    ("call", "types"),
    [
        ("tl.fdiv(x, y)", ("fp32", "fp32")),
        ("tl.fdiv(x, y)", ("fp16", "bf16")),
        ("tl.fdiv(x, y, ieee_rounding=True)", ("fp32", "fp32")),
        ("tl.fdiv(x, y, True)", ("fp64", "fp32")),
        ("tl.fdiv(x, y, approx=True)", ("fp32", "fp16")),
        ("tl.math.fdiv(x, 3.0)", ("fp32", "fp32")),
        ("tl.fdiv(2, y)", ("fp32", "fp32")),
        ("tl.div_rn(x, y)", ("fp32", "fp32")),
        ("tl.div_rn(x, 2.0)", ("fp32", "fp32")),
        ("tl.fma(x, y, y)", ("fp32", "fp16")),
        ("tl.math.fma(x, 2.0, y)", ("fp64", "fp32")),
        ("tl.umulhi(x, y)", ("i32", "u32")),
        ("tl.math.umulhi(x, y)", ("u64", "i32")),
        ("tl.umulhi(x, 0x9E3779B9)", ("u32", "u32")),
    ],
)
def test_of_several_operands(call: str, types: tuple[str, str]) -> None:
    check_expression(call, {"x": f"{types[0]}[32]", "y": f"{types[1]}[32]"})


@pytest.mark.parametrize("function", [*UNARY, "sqrt_rn"])
@pytest.mark.parametrize("element", ["fp16", "bf16", "i32"])
def test_other_types_are_refused(function: str, element: str) -> None:
    source, signature = kernel_of(f"tl.{function}(x)", {"x": f"{element}[32]"})
    found = {"i32": "int32"}.get(element, element)
    with pytest.raises(
        CompileError, match=rf"Expected dtype .* but got {found}: .*\.to\(tl\.float32\)"
    ):
        our_module(source, signature, {})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tl.fdiv(x, y, ieee_rounding=True, approx=True)", "approx and ieee_rounding cannot both be True"),
        ("tl.fdiv(d, d, approx=True)", "approx division requires float32 operands, got fp64"),
        ("tl.fdiv(i, i)", "fdiv requires floating-point operands after type promotion, got int32"),
        ("tl.sqrt_rn(d)", "Expected dtype ['fp32'] but got fp64"),
        ("tl.div_rn(d, d)", "Expected dtype ['fp32'] but got fp64"),
    ],
)  # fmt: skip
def test_wrong_calls_say_what_is_wrong(call: str, message: str) -> None:
    variables = {"x": "fp32[8]", "y": "fp32[8]", "d": "fp64[8]", "i": "i32[8]"}
    source, signature = kernel_of(call, variables)
    with pytest.raises(CompileError) as caught:
        our_module(source, signature, {})
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "call",
    [
        "tl.sigmoid(x)",
        "x.sigmoid()",
        "tl.softmax(x)",
        "tl.softmax(x, 1)",
        "tl.softmax(x, dim=-1, ieee_rounding=True)",
        "x.softmax(0)",
        "tl.zeros_like(x)",
        "tl.zeros((4, 8), tl.bfloat16)",
        "tl.ravel(x)",
        "tl.cdiv(tl.program_id(0), 16)",
        "tl.cdiv(tl.num_programs(1), tl.program_id(0))",
        "tl.program_id(0).cdiv(3)",
        "tl.cdiv(100, tl.program_id(0))",
        "tl.cdiv(100, 7)",
    ],
)
def test_standard_functions(call: str) -> None:
    check_expression(call, {"x": "fp32[16, 32]"})


@pytest.mark.parametrize(
    "call",
    [
        "tl.swizzle2d(i, j, 8, 8, 4)",
        "tl.swizzle2d(i, j, a, b, 4)",
        "tl.swizzle2d(i, j, a, b, a)",
        "tl.swizzle2d(1, 2, 8, b, 4)",
        "tl.swizzle2d(1, 2, a, 4, 2)",
        "tl.swizzle2d(1, 2, 4, 4, 2)",
    ],
)
def test_swizzle(call: str) -> None:
    variables = {"i": "i32", "j": "i32", "a": "i32", "b": "i32"}
    check_expression(call, variables, results=2)


def test_ceiling_division_of_numbers() -> None:
    from tilewright.language.tl import cdiv

    numbers = np.arange(0, 200)
    assert [cdiv(int(n), 7) for n in numbers] == list(-(-numbers // 7))
