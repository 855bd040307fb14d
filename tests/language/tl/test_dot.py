"""Matrix products: the same op, precision and accumulator as Triton's."""

import pytest

from tests.language.tl.against_triton import check_expression, kernel_of, our_module
from tilewright.ir.diagnostics import CompileError
from tilewright.language.tl.options import Target


def _operands(element: str, m: int = 16, n: int = 32, k: int = 32) -> dict[str, str]:
    return {"a": f"{element}[{m}, {k}]", "b": f"{element}[{k}, {n}]"}


@pytest.mark.parametrize("element", ["fp16", "bf16", "fp32", "fp64", "i8", "fp8e5", "fp8e4nv"])
def test_of_every_element_type(element: str) -> None:
    check_expression("tl.dot(a, b)", _operands(element))


@pytest.mark.parametrize("arch", [80, 90, 100, 120])
def test_sums_of_fp8_are_imprecise_on_hopper(arch: int) -> None:
    text = check_expression("tl.dot(a, b)", _operands("fp8e5"), target=("cuda", arch))
    assert ("maxNumImpreciseAcc = 1073741824" in text) is (arch == 90)


@pytest.mark.parametrize(
    "options",
    [
        'input_precision="tf32"',
        'input_precision="tf32x3"',
        'input_precision="TF32X3"',
        'input_precision="ieee"',
        'input_precision="bf16x3"',
        'input_precision="bf16x6"',
        "allow_tf32=True",
        "allow_tf32=False",
        "allow_tf32=None",
        "out_dtype=tl.float32",
    ],
)
def test_precision(options: str) -> None:
    check_expression(f"tl.dot(a, b, {options})", _operands("fp32"))


@pytest.mark.parametrize(("arch", "precision"), [("gfx942", "tf32"), ("gfx950", "ieee")])
def test_precision_on_amd(arch: str, precision: str) -> None:
    text = check_expression("tl.dot(a, b)", _operands("fp32"), target=("hip", arch))
    assert ("inputPrecision = tf32" in text) is (precision == "tf32")


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_no_precision_is_up_to_the_target(arch: str) -> None:
    call = "tl.dot(a, b, input_precision=None)"
    assert "tf32" not in check_expression(call, _operands("fp32"), target=("hip", arch))
    assert "tf32" in check_expression(call, _operands("fp32"))


@pytest.mark.parametrize(
    ("call", "element", "accumulator"),
    [
        ("tl.dot(a, b, c)", "fp16", "fp32"),
        ("tl.dot(a, b, acc=c)", "bf16", "fp32"),
        ("tl.dot(a, b, c, out_dtype=tl.float16)", "fp16", "fp16"),
        ("tl.dot(a, b, c)", "fp16", "fp16"),
        ("tl.dot(a, b, c)", "i8", "i32"),
        ("tl.dot(a, b, c)", "fp64", "fp64"),
        ("tl.dot(a, b, c, max_num_imprecise_acc=16)", "fp8e5", "fp32"),
        ("tl.dot(a, b, c, max_num_imprecise_acc=0)", "fp8e4nv", "fp32"),
        ("tl.dot(a, b, out_dtype=tl.float16) + c", "fp16", "fp16"),
    ],
)
def test_accumulator(call: str, element: str, accumulator: str) -> None:
    check_expression(call, {**_operands(element), "c": f"{accumulator}[16, 32]"})


def test_mixed_fp8() -> None:
    check_expression("tl.dot(a, b)", {"a": "fp8e5[16, 32]", "b": "fp8e4nv[32, 16]"})


def test_batches() -> None:
    variables = {"a": "fp16[4, 16, 32]", "b": "fp16[4, 32, 16]", "c": "fp32[4, 16, 16]"}
    check_expression("tl.dot(a, b)", variables)
    check_expression("tl.dot(a, b, c)", variables)


def test_more_than_one_batch_dimension() -> None:
    variables = {"a": "fp16[2, 4, 8, 16]", "b": "fp16[2, 4, 16, 8]", "c": "fp32[2, 4, 8, 8]"}
    check_expression("tl.dot(a, b)", variables)
    check_expression("tl.dot(a, b, c)", variables)


def test_types_that_the_chip_lacks_become_fp16() -> None:
    check_expression("tl.dot(a, b)", _operands("fp8e4b8"), target=("hip", "gfx950"))
    check_expression("tl.dot(a, b)", _operands("fp8e4b8"), target=("hip", "gfx942"))


MX = {"a": "u8[32, 64]", "b": "u8[64, 32]", "s": "u8[32, 2]", "t": "u8[32, 2]", "c": "fp32[32, 32]"}


@pytest.mark.parametrize(
    "call",
    [
        'tl.dot_scaled(a, s, "e4m3", b, t, "e5m2")',
        'tl.dot_scaled(a, s, "e5m2", b, t, "e4m3", acc=c)',
        'tl.dot_scaled(a, None, "e5m2", b, t, "e4m3", c, fast_math=True)',
        'tl.dot_scaled(a, s, "e4m3", b, None, "e4m3")',
        'tl.dot_scaled(a, None, "e4m3", b, None, "e4m3")',
        'tl.dot_scaled(a.to(tl.float8e5, bitcast=True), s, "e5m2", b, t, "e4m3")',
    ],
)
def test_scaled_bytes(call: str) -> None:
    check_expression(call, MX)


@pytest.mark.parametrize("format", ["bf16", "fp16"])
def test_scaled_half_floats(format: str) -> None:
    for element in (format, "u16"):
        variables = {"a": f"{element}[32, 64]", "b": "u8[32, 32]", "t": "u8[32, 2]"}
        check_expression(f'tl.dot_scaled(a, None, "{format}", b, t, "e2m1")', variables)


@pytest.mark.parametrize(
    ("call", "variables"),
    [
        (
            'tl.dot_scaled(a, s, "e2m1", b, t, "e2m1")',
            {"a": "u8[32, 32]", "s": "u8[32, 2]", "b": "u8[32, 64]", "t": "u8[64, 2]"},
        ),
        (
            'tl.dot_scaled(a, s, "e2m1", b, t, "e2m1")',
            {"a": "u8[32, 32]", "s": "u8[32, 4]", "b": "u8[32, 64]", "t": "u8[64, 4]"},
        ),
        (
            'tl.dot_scaled(a, s, "e2m1", b, t, "e2m1", lhs_k_pack=False, rhs_k_pack=False)',
            {"a": "u8[16, 64]", "s": "u8[32, 2]", "b": "u8[64, 16]", "t": "u8[32, 2]"},
        ),
        (
            'tl.dot_scaled(a, s, "e4m3", b, t, "e2m1", c)',
            {"a": "u8[4, 32, 64]", "s": "u8[4, 32, 2]", "b": "u8[4, 32, 16]", "t": "u8[4, 16, 2]",
             "c": "fp32[4, 32, 16]"},
        ),
    ],
)  # fmt: skip
def test_packed_pairs(call: str, variables: dict[str, str]) -> None:
    check_expression(call, variables, target=("cuda", 100))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tl.dot(a, c)", "the last of [16, 32] is 32, the one before the last of [16, 32] is 16; did you mean tl.trans(other)?"),
        ("tl.dot(a, b.to(tl.float32))", "Both operands must be same dtype. Got fp16 and fp32"),
        ("tl.dot(a.to(tl.int32), b.to(tl.int32))", "Unsupported lhs dtype int32"),
        ("tl.dot(a, b, a)", "accumulator shape is incompatible: [16, 32] times [32, 16] is [16, 16], but acc has shape [16, 32]"),
        ("tl.dot(a, b, d.to(tl.float64))", "a dot of fp16 accumulates in fp32 or fp16, got out_dtype=fp64"),
        ("tl.dot(a.to(tl.bfloat16), b.to(tl.bfloat16), d.to(tl.float16))", "expected accumulator dtype fp32 for these operands, got fp16"),
        ("tl.dot(a, b, d, out_dtype=tl.float16)", "expected accumulator dtype fp16, got fp32; pass out_dtype=tl.float32"),
        ("tl.dot(a, b, out_dtype=tl.bfloat16)", "out_dtype=bfloat16 is unsupported"),
        ("tl.dot(a, b, input_precision='fp32')", "input_precision must be one of tf32, tf32x3, ieee, bf16x3, bf16x6 on cuda:90. Got fp32"),
        ("tl.dot(a, b, input_precision='ieee', allow_tf32=True)", "Only one of input_precision and allow_tf32 can be specified"),
        ("tl.dot(a, b, input_precision='ieee', allow_tf32=None)", "Only one of input_precision and allow_tf32 can be specified"),
        ("tl.dot(tl.sum(a), b)", "dot operands must be block tensors (not scalars), got fp16[]"),
        ("tl.dot(tl.sum(a, 0), b)", "input and other must have equal ranks >= 2, got shapes [32] and [32, 16]"),
        ("tl.dot(tl.full((16, 8), 0, tl.float16), tl.full((8, 16), 0, tl.float16))", "Input shapes should have M >= 1, N >= 1 and K >= 16: got M = 16, N = 16, K = 8"),
        ("tl.dot(a.to(tl.uint8), b.to(tl.uint8))", "only int8 supported! The operands are uint8"),
        ("tl.dot(a.to(tl.float8e5), b.to(tl.float8e5), max_num_imprecise_acc=64)", "max_num_imprecise_acc (64) must be <= K (32)"),
        ("tl.dot_scaled(a, None, 'fp32', b, None, 'fp16')", "Invalid float format: fp32 of lhs; expected one of e2m1, e4m3, e5m2, bf16, fp16"),
        ("tl.dot_scaled(a, None, 'e4m3', b, None, 'fp16')", "e4m3 values are stored as fp8e4nv or uint8, got fp16"),
        ("tl.dot_scaled(a, None, 'fp16', b, None, 'fp16', lhs_k_pack=False)", "lhs_k_pack=False goes with lhs_format='e2m1'"),
        ("tl.dot_scaled(a, None, 'fp16', c, None, 'fp16')", "lhs: [16, 32] holds 32 vs rhs: [16, 32] holds 16"),
        ("tl.dot_scaled(a, b, 'fp16', b, None, 'fp16')", "scale factor must be 16 or 32. Got 2"),
        ("tl.dot_scaled(a, None, 'fp16', b, None, 'fp16', out_dtype=tl.float16)", "Only float32 is supported for out_dtype"),
    ],
)  # fmt: skip
def test_wrong_calls_say_what_is_wrong(call: str, message: str) -> None:
    variables = {"a": "fp16[16, 32]", "b": "fp16[32, 16]", "c": "fp16[16, 32]", "d": "fp32[16, 16]"}
    source, signature = kernel_of(call, variables)
    with pytest.raises(CompileError) as caught:
        our_module(source, signature, {})
    assert message in str(caught.value)


def test_facts_of_the_targets() -> None:
    hopper, ampere, cdna3 = Target("cuda", 90), Target("cuda", 80), Target("hip", "gfx942")
    assert hopper.min_dot_size(8) == (1, 1, 32)
    assert cdna3.min_dot_size(8) == (1, 1, 1)
    assert "fp8e4nv" in hopper.supported_fp8
    assert "fp8e4nv" not in ampere.supported_fp8
    assert (hopper.warp_size, cdna3.warp_size, Target("hip", "gfx1250").warp_size) == (32, 64, 32)
    assert str(cdna3) == "hip:gfx942"
    with pytest.raises(
        TypeError, match="arch of cuda must be an integer, 90 for sm_90, got 'gfx942'"
    ):
        Target("cuda", "gfx942")
