"""Reductions and scans: the same region and the same op as Triton's, for every element type."""

import pytest

from tests.language.tl.against_triton import check, check_expression, our_module
from tilewright.dialects.tt import ReduceOp
from tilewright.ir.diagnostics import CompileError
from tilewright.ir.traversal import walk

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("fp16", "bf16", "fp32", "fp64")


@pytest.mark.parametrize("element", ["i1", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("function", ["sum", "max", "min"])
def test_of_every_element_type(function: str, element: str) -> None:
    check_expression(f"tl.{function}(x, 0)", {"x": f"{element}[64]"})


@pytest.mark.parametrize("element", ["i32", "u8", "fp32", "bf16"])
@pytest.mark.parametrize("function", ["argmax", "argmin"])
@pytest.mark.parametrize("tie_left", [True, False])
def test_index_of_an_extremum(function: str, element: str, tie_left: bool) -> None:
    text = check_expression(
        f"tl.{function}(x, 1, tie_break_left={tie_left})", {"x": f"{element}[16, 32]"}
    )
    assert ("arith.andi" in text) is tie_left


@pytest.mark.parametrize(
    "call",
    [
        "tl.max(x, 0, return_indices=True)",
        "tl.max(x, -1, return_indices=True, return_indices_tie_break_left=False)",
        "tl.min(x, 1, return_indices=True, keep_dims=True)",
        "x.max(1, return_indices=True)",
    ],
)
def test_extremum_with_its_index(call: str) -> None:
    check_expression(call, {"x": "fp32[16, 32]"}, results=2)


@pytest.mark.parametrize(
    "call",
    [
        "tl.sum(x)",
        "tl.sum(x, axis=None, keep_dims=True)",
        "tl.sum(x, 1, keep_dims=True)",
        "tl.sum(x, -2)",
        "tl.sum(x, 0, dtype=tl.float64)",
        "x.sum(2)",
        "tl.max(x)",
        "tl.max(x, 2, keep_dims=True)",
        "x.min(axis=1)",
        "tl.cumsum(x, 2)",
        "tl.cumsum(x, -1, reverse=True)",
        "tl.cumprod(x, 0)",
        "tl.cumprod(x, axis=1, reverse=True, dtype=tl.float32)",
        "x.cumsum(1)",
    ],
)
def test_axes_and_options(call: str) -> None:
    check_expression(call, {"x": "fp16[4, 8, 16]"})


@pytest.mark.parametrize(
    "call",
    [
        "tl.sum(x, tl.constexpr(0))",
        "tl.sum(x, axis=tl.constexpr(-1), keep_dims=tl.constexpr(True))",
        "tl.argmax(x, tl.constexpr(1), tie_break_left=tl.constexpr(False))",
        "tl.cumsum(x, tl.constexpr(1), reverse=tl.constexpr(True))",
        "tl.flip(x, tl.constexpr(0))",
        "tl.topk(x, tl.constexpr(4))",
    ],
)
def test_options_in_boxes(call: str) -> None:
    check_expression(call, {"x": "fp32[16, 8]"})


@pytest.mark.parametrize("element", INTEGERS)
@pytest.mark.parametrize(
    "call", ["tl.xor_sum(x, 0)", "tl.xor_sum(x)", "tl.reduce_or(x, 0)", "tl.cumsum(x, 0)"]
)
def test_of_integers(call: str, element: str) -> None:
    check_expression(call, {"x": f"{element}[32]"})


@pytest.mark.parametrize(
    "call",
    ["tl.cumsum(x, 0)", "tl.cumprod(x, 1, reverse=True)", "tl.cumsum(x, 0, dtype=tl.bfloat16)"],
)
def test_scans_of_bfloat16(call: str) -> None:
    check_expression(call, {"x": "bf16[16, 8]"})


OWN = """
@jit
def larger_magnitude(a, b):
    return tl.where(tl.abs(a) > tl.abs(b), a, b)

@jit
def welford(mean1, m1, n1, mean2, m2, n2):
    delta = mean2 - mean1
    n = n1 + n2
    ratio = n2 / n
    return mean1 + delta * ratio, m1 + m2 + delta * delta * n1 * ratio, n

@jit
def first_order(a1, b1, a2, b2):
    return a1 * a2, a2 * b1 + b2

@jit
def branching(a, b):
    if a > b:
        c = a - b
    else:
        c = b
    return c
"""


def test_reduce_by_an_own_function() -> None:
    check_expression("tl.reduce(x, 1, larger_magnitude)", {"x": "fp32[16, 32]"}, functions=OWN)


def test_reduce_of_several_tensors() -> None:
    check_expression(
        "tl.reduce((x, y, z), 0, welford)",
        {"x": "fp32[64]", "y": "fp32[64]", "z": "fp32[64]"},
        results=3,
        functions=OWN,
    )


def test_reduce_keeps_dimensions_of_several_tensors() -> None:
    check_expression(
        "tl.reduce((x, y, z), 1, welford, keep_dims=True)",
        {"x": "fp32[4, 64]", "y": "fp32[4, 64]", "z": "fp32[4, 64]"},
        results=3,
        functions=OWN,
    )


@pytest.mark.parametrize("reverse", [True, False])
def test_scan_of_several_tensors(reverse: bool) -> None:
    check_expression(
        f"tl.associative_scan((x, y), 1, first_order, reverse={reverse})",
        {"x": "fp32[8, 64]", "y": "fp32[8, 64]"},
        results=2,
        functions=OWN,
    )


def test_a_branch_inside_the_combine_function() -> None:
    text = check_expression("tl.reduce(x, 0, branching)", {"x": "i32[64]"}, functions=OWN)
    assert "scf.if" in text


def test_reduction_in_a_loop() -> None:
    check(
        """
        @jit
        def kernel(x, y, n, N: tl.constexpr):
            best = -float("inf")
            for start in range(0, n, N):
                block = tl.load(x + start + tl.arange(0, N))
                best = tl.maximum(best, tl.max(block, 0))
            tl.store(y, best)
        """,
        dict(x="*fp32", y="*fp32", n="i32"),
        dict(N=64),
    )


def _error(expression: str, **variables: str) -> str:
    from tests.language.tl.against_triton import kernel_of

    source, signature = kernel_of(expression, variables, functions=OWN)
    with pytest.raises(CompileError) as caught:
        our_module(source, signature, {})
    return str(caught.value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("tl.sum(x, 2)", "invalid axis 2. Expected -2 <= axis < 2"),
        ("tl.argmax(x, None)", "an index needs an axis: pass axis="),
        ("tl.xor_sum(x, 0)", "xor_sum only supported for integers, got fp32[4, 8]"),
        ("tl.reduce((x, y), 0, first_order)", "got [4, 8] and [8]"),
        ("tl.sum(tl.sum(x))", "a scalar has no axis"),
        ("tl.reduce(x, 0, first_order)", "first_order"),
        ("tl.reduce((x, x), 0, larger_magnitude)", "larger_magnitude"),
    ],
)
def test_wrong_calls_say_what_is_wrong(expression: str, message: str) -> None:
    assert message in _error(expression, x="fp32[4, 8]", y="fp32[8]")


def test_the_combine_function_must_keep_the_type() -> None:
    source = """
    @jit
    def widened(a, b):
        return a.to(tl.float64) + b

    @jit
    def kernel(x, N: tl.constexpr):
        tl.device_print("sum", tl.reduce(tl.load(x + tl.arange(0, N)), 0, widened))
    """
    with pytest.raises(CompileError, match=r"value 0 has type fp64, expected fp32"):
        our_module(source, dict(x="*fp32"), dict(N=8))


def test_one_region_a_reduction() -> None:
    source = """
    @jit
    def kernel(x, y, N: tl.constexpr):
        block = tl.load(x + tl.arange(0, N))
        tl.store(y, tl.sum(block, 0) + tl.max(block, 0))
    """
    module = our_module(source, dict(x="*fp32", y="*fp32"), dict(N=32))
    combiners = [op.single_combiner for op in walk(module) if isinstance(op, ReduceOp)]
    assert [op.name for op in combiners if op is not None] == ["arith.addf", "arith.maxnumf"]
