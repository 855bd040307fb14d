"""GEMMs that request a precision: error bounds at the thread level, bits of the pointer level."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.passes.gpu.tile_levels import by_threads, by_tiles, cubins, parsed
from tests.sampling import every, examples
from tests.targets.numpy.kernels import IR_NAMES, on_blocks, same_bits
from tests.targets.numpy.tile.tile_support import block
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline

ERRORS = {"tf32": 2**-9, "bf16x3": 2**-14, "tf32x3": 2**-18, "bf16x6": 2**-20, "ieee": 2**-20}
"""Of a term, relative to its size."""


def gemm(
    m: int,
    n: int,
    k: int,
    precision: str | None,
    *,
    type: str = "f32",
    turned: str = "",
    clear: str = "",
    a_space: str = "shared",
    threads: int = 128,
) -> str:
    """``C += A B`` of one block; `clear` is how C is overwritten."""
    a = f"{k}x{m}" if "A" in turned else f"{m}x{k}"
    b = f"{n}x{k}" if "B" in turned else f"{k}x{n}"

    def memory(shape: str, space: str) -> str:
        return f"memref<{shape}x{type}, #{space}>"

    marks = [f"transpose_{each.lower()}" for each in turned] + (
        ["clear"] if clear == "clear" else []
    )
    given = f" {{{', '.join(marks)}}}" if marks else ""
    options = (" clear_if %if" if clear == "clear_if" else "") + (
        f" precision {precision}" if precision else ""
    )
    types = [memory(a, a_space), memory(b, "shared"), memory(f"{m}x{n}", "fragment")]
    tensors = [memory(each, "global") for each in (a, b, f"{m}x{n}")]
    return block(
        f"%A: {tensors[0]}, %B: {tensors[1]}, %C: {tensors[2]}, %if: i1",
        f"""
    %a = tile.alloc "a" : {types[0]}
    %b = tile.alloc "b" : {types[1]}
    %c = tile.alloc "c" : {types[2]}
    tile.copy %A -> %a : {tensors[0]} -> {types[0]}
    tile.copy %B -> %b : {tensors[1]} -> {types[1]}
    tile.copy %C -> %c : {tensors[2]} -> {types[2]}
    tile.gemm %a, %b -> %c{options}{given} : {types[0]}, {types[1]} -> {types[2]}
    tile.copy %c -> %C : {types[2]} -> {tensors[2]}
""",
        threads=threads,
    )


def drawn(m: int, n: int, k: int, seed: int = 0, dtype: Any = np.float32) -> list[Any]:
    draw = np.random.default_rng(seed)
    shapes = ((m, k), (k, n), (m, n))
    return [draw.standard_normal(shape).astype(dtype) for shape in shapes]


def check(found: Any, a: Any, b: Any, c: Any, error: float) -> None:
    a, b = a.astype(np.float64), b.astype(np.float64)
    size = np.abs(a) @ np.abs(b) + np.abs(c)
    assert (np.abs(found - (a @ b + c)) <= size * error).all()


TARGETS = ["cuda:sm_90a", "hip:gfx1100", "hip:gfx942", "cuda:sm_80"]


@pytest.mark.parametrize("precision", ERRORS)
@pytest.mark.parametrize("target", every(2, TARGETS))
def test_a_precision_is_a_bound(precision, target):
    a, b, c = drawn(64, 32, 32)
    found = by_threads(gemm(64, 32, 32, precision), a, b, c, False, target=target)[2]
    check(found, a, b, c, ERRORS[precision])


@pytest.mark.parametrize("precision", ["tf32", "bf16x3"])
def test_a_precision_is_not_much_more(precision):
    """The executor reads as many bits as the hardware: the bounds do not hold by chance."""
    a, b, c = drawn(64, 64, 32)
    found = by_threads(gemm(64, 64, 32, precision), a, b, c, False)[2]
    exact = a.astype(np.float64) @ b.astype(np.float64) + c
    assert np.abs(found - exact).max() > ERRORS[precision] / 64


@settings(max_examples=examples(18), deadline=None)
@given(
    st.sampled_from(list(ERRORS)),
    st.tuples(st.sampled_from([8, 16, 33, 64]), st.sampled_from([8, 12, 64]), st.integers(1, 33)),
    st.sampled_from(["", "A", "B", "AB"]),
    st.sampled_from(["", "clear", "clear_if"]),
    st.integers(0, 2**20),
)
def test_any_shape(precision, shape, turned, clear, seed):
    m, n, k = shape
    a, b, c = drawn(m, n, k, seed)
    held = [a.T.copy() if "A" in turned else a, b.T.copy() if "B" in turned else b, c]
    text = gemm(m, n, k, precision, turned=turned, clear=clear)
    before = np.zeros_like(c) if clear == "clear" else c
    check(by_threads(text, *held, False)[2], a, b, before, ERRORS[precision])
    check(by_tiles(text, *held, False)[2], a, b, before, ERRORS["ieee"])
    if clear == "clear_if":
        check(by_threads(text, *held, True)[2], a, b, np.zeros_like(c), ERRORS[precision])


@pytest.mark.parametrize("precision", every(2, ["ieee", "bf16x3", "tf32x3", "bf16x6"]))
def test_an_operand_in_registers(precision):
    a, b, c = drawn(64, 32, 32, 5)
    text = gemm(64, 32, 32, precision, a_space="fragment")
    check(by_threads(text, a, b, c, False)[2], a, b, c, ERRORS[precision])


@pytest.mark.parametrize("precision", ["ieee", "tf32x3", "bf16x3", "bf16x6"])
def test_infinities_and_nan(precision):
    a, b, c = drawn(16, 16, 16, 6)
    a[0, 3], a[1, 0], a[2, 5], b[3, 3] = np.inf, -np.inf, np.nan, np.inf
    a[2, 5:6].view(np.uint32)[0] = 0x7F800001  # a NaN of which the upper bits are an infinity's
    found = by_threads(gemm(16, 16, 16, precision, threads=32), a, b, c, False)[2]
    with np.errstate(invalid="ignore"):
        expected = a.astype(np.float64) @ b.astype(np.float64) + c
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(
        found[~finite & ~np.isnan(expected)], expected[~finite & ~np.isnan(expected)]
    )
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("precision", ["ieee", None])
@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx942"])
def test_double_precision(precision, target):
    a, b, c = drawn(33, 12, 17, 7, np.float64)
    text = gemm(33, 12, 17, precision, type="f64", threads=64)
    check(by_threads(text, a, b, c, False, target=target)[2], a, b, c, 2**-48)
    check(by_tiles(text, a, b, c, False)[2], a, b, c, 2**-48)


@pytest.mark.parametrize(
    ("precision", "dtype"), [*((each, np.float32) for each in ERRORS), ("ieee", np.float64)]
)
def test_tiles_have_the_bits_of_the_pointer_level(precision, dtype):
    a, b, c = (each[None] for each in drawn(16, 32, 16, 8, dtype))
    type = IR_NAMES[np.dtype(dtype)]
    option = "" if precision == "ieee" else f", inputPrecision = {precision}"
    ops = (
        f"%r = tt.dot %a, %b, %c{option} : tensor<16x16x{type}> * tensor<16x32x{type}> "
        f"-> tensor<16x32x{type}>"
    )
    expected = on_blocks(ops, c, a, b, c)[0]
    found = by_tiles(gemm(16, 32, 16, precision, type=type), a[0], b[0], c[0], False)[2]
    assert same_bits(found, expected)


@pytest.mark.parametrize("precision", every(2, ["ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"]))
def test_device_code_compiles(precision):
    for source in cubins(gemm(64, 64, 32, precision, turned="B")):
        assert ("mma" in source) == (precision != "ieee")


def test_double_precision_compiles():
    for source in cubins(gemm(32, 32, 16, "ieee", type="f64")):
        assert "double c[" in source


def reported(text: str, target: str = "cuda:sm_90a") -> list[tuple[str, str]]:
    module, engine = parsed(text), DiagnosticEngine()
    GpuPipeline(target=target).run(module, engine)
    return [(each.code, each.message) for each in engine.diagnostics if each.code is not None]


def test_what_is_reported():
    """A precision that is requested is no surprise; that it takes FMA units is a remark."""
    codes = [code for code, _ in reported(gemm(64, 64, 32, None))]
    assert "TW3007" in codes
    for precision in ("tf32", "tf32x3", "bf16x3"):
        codes = [code for code, _ in reported(gemm(64, 64, 32, precision))]
        assert not {"TW3007", "TW3008", "TW3009"} & set(codes)
    messages = dict(reported(gemm(64, 64, 32, "ieee")))
    assert messages["TW3009"] == (
        "tensor cores not used for this GEMM: precision ieee multiplies all bits of float32 on "
        "the FMA units"
    )
    assert "TW3008" not in messages


PIPELINED = block(
    "%A: memref<64x96xf32, #global>, %B: memref<64x96xf32, #global>, %C: memref<64x64xf32, #global>",
    """
    %zero = arith.constant 0.0 : f32
    %c32 = arith.constant 32 : index
    %a = tile.alloc "a" : memref<64x32xf32, #shared>
    %b = tile.alloc "b" : memref<64x32xf32, #shared>
    %c = tile.alloc "c" : memref<64x64xf32, #fragment>
    tile.fill %c, %zero : memref<64x64xf32, #fragment>, f32
    tile.pipeline %k = 0 to 3 num_stages(2) {
      %z = arith.muli %k, %c32 : index
      %ra = tile.region %A[0, %z] [64, 32] : memref<64x96xf32, #global> to !tile.region<64x32xf32, #global>
      %rb = tile.region %B[0, %z] [64, 32] : memref<64x96xf32, #global> to !tile.region<64x32xf32, #global>
      tile.copy %ra -> %a : !tile.region<64x32xf32, #global> -> memref<64x32xf32, #shared>
      tile.copy %rb -> %b : !tile.region<64x32xf32, #global> -> memref<64x32xf32, #shared>
      tile.gemm %a, %b -> %c precision PRECISION {transpose_b} : memref<64x32xf32, #shared>, memref<64x32xf32, #shared> -> memref<64x64xf32, #fragment>
    }
    tile.copy %c -> %C : memref<64x64xf32, #fragment> -> memref<64x64xf32, #global>
""",
)


@pytest.mark.parametrize(
    ("precision", "target"),
    every(
        2,
        [
            ("ieee", "cuda:sm_90a"),
            ("ieee", "cuda:sm_80"),
            ("tf32x3", "cuda:sm_90a"),
            ("tf32x3", "cuda:sm_80"),
            ("bf16x6", "cuda:sm_80"),
            ("bf16x6", "cuda:sm_90a"),
        ],
    ),
)
def test_a_pipelined_loop(precision, target):
    """Copies of the next tiles are in flight while operands are divided; warps have roles."""
    a, b, _ = drawn(64, 64, 96, 9)
    c, held = np.zeros((64, 64), np.float32), b.T.copy()
    text = PIPELINED.replace("PRECISION", precision)
    for seed in range(2):
        found = by_threads(text, a, held, c, target=target, seed=seed)[2]
        check(found, a, b, c, ERRORS[precision])
