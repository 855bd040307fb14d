"""Thread-level IR becomes source that NVRTC compiles, with the words a reader expects."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.targets.hip.every_rule import FLOATS, every_rule
from tilewright.dialects import make_context
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import parse_source
from tilewright.targets.cuda.emit.kernel import Source, emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source

HERE = Path(__file__).parent


def emitted(text: str) -> Source:
    engine = DiagnosticEngine()
    parsed = parse_source(make_context(), text, "kernel.mlir", engine, keep_names=True)
    engine.raise_if_errors()
    assert parsed is not None
    (kernel,) = kernels_of(parsed.module)
    return emit_kernel(kernel)


def test_a_hopper_product_with_roles_compiles_without_spills() -> None:
    source = emitted((HERE / "gemm.mlir").read_text())
    compiled = compile_source(source.text, "sm_90a")
    assert compiled.cubin[:4] == b"\x7fELF"
    assert "0 bytes spill stores, 0 bytes spill loads" in compiled.log
    assert (source.name, source.threads, source.shared_bytes) == ("gemm_kernel", 256, 65600)
    for wanted in (
        "const __grid_constant__ tw::TensorMap A",
        "tw::tma_load(A_shared + o, &A, full + s, kk, bx * 128);",
        "tw::registers_more<240>();",
        "#pragma unroll",
        "} else if (threadIdx.x >= 128 && threadIdx.x < 256) {  // consumer",
    ):
        assert wanted in source.text, source.text


def test_constants_and_single_uses_are_written_where_they_are_used() -> None:
    source = emitted(
        """
func.func @k(%x: memref<?xf32, #tile.space<global>>, %n: i32) attributes {simt.kernel} {
  %c3 = arith.constant 3 : i32
  %c2 = arith.constant 2 : i32
  %a = arith.addi %n, %c3 : i32
  %b = arith.muli %a, %c2 : i32
  %i = arith.index_cast %b : i32 to index
  %v = memref.load %x[%i] : memref<?xf32, #tile.space<global>>
  %half = arith.constant 0.5 : f32
  %w = arith.mulf %v, %half : f32
  memref.store %w, %x[%i] : memref<?xf32, #tile.space<global>>
  func.return
}
"""
    )
    body = re.sub(r"\s*//.*", "", source.text)
    assert "const int i = int(unsigned(int(unsigned(n) + 3u)) * 2u);" in body
    assert "x[i] = x[i] * 0.5f;" in body
    compile_source(source.text, "sm_80")


def test_integers_wrap_and_indices_do_not_overflow() -> None:
    body = body_of(
        """
func.func @k(%x: memref<?xi64, #tile.space<global>>, %n: i32, %i: index) attributes {simt.kernel} {
  %two = arith.constant 2 : index
  %a = arith.extui %n : i32 to i64
  %large = arith.constant 3528531795 : i64
  %b = arith.muli %a, %large : i64
  %c = arith.shli %b, %a : i64
  %at = arith.muli %i, %two : index
  memref.store %c, %x[%at] : memref<?xi64, #tile.space<global>>
  func.return
}
"""
    )
    # A product of two numbers of 32 bits may have its highest bit set, which no signed one may.
    assert "(unsigned long long)(3528531795ll)" in body
    assert "<< (unsigned long long)(a));\n  x[i * 2] = c;" in body


def test_every_rule_of_arithmetic_compiles() -> None:
    """Maxima of 8-bit floats that pass a NaN on once had no comparison."""
    source = emitted(every_rule((*FLOATS, "f8E4M3FN", "f8E5M2")))
    for wanted in ("tw::softsignf(", "tw::softsign(", "__nv_fp8_e4m3(tw::max_or_nan(float("):
        assert wanted in source.text
    compile_source(source.text, "sm_90a")


def test_an_op_without_text_is_refused_at_its_line() -> None:
    with pytest.raises(CompileError, match=r"kernel.mlir:4:\d+: error\[TW9050\]: .*'tile.fill'"):
        emitted(
            """
func.func @k(%x: memref<8xf32, #tile.space<shared>>) attributes {simt.kernel} {
  %v = arith.constant 1.0 : f32
  tile.fill %x, %v : memref<8xf32, #tile.space<shared>>, f32
  func.return
}
"""
        )


def body_of(text: str) -> str:
    """The statements of a kernel."""
    source = emitted(text)
    compile_source(source.text, "sm_80")
    return re.sub(r"\s*//.*", "", source.text)


@pytest.mark.parametrize(
    ("lower", "upper", "bits", "expected"),
    [
        ("sge, %i, %c0", "slt, %i, %c8", "", "if (unsigned(i) < 8u) {"),
        ("slt, %i, %c8", "sge, %i, %c0", "", "if (unsigned(i) < 8u) {"),
        (
            *("sge, %i, %c0", "slt, %i, %c8", ", simt.index_bits = 64 : i64"),
            "if ((unsigned long long)(i) < (unsigned long long)(8LL)) {",
        ),
        ("sge, %i, %c0", "slt, %j, %c8", "", "if (i >= 0 & j < 8) {"),
        ("sge, %i, %c1", "slt, %i, %c8", "", "if (i >= 1 & i < 8) {"),
        ("sge, %i, %c0", "slt, %i, %n", "", "if (i >= 0 & i < n) {"),
        ("sge, %i, %c0", "slt, %i, %m1", "", "if (i >= 0 & i < -1) {"),
    ],
)
def test_a_range_test_is_one_comparison(lower: str, upper: str, bits: str, expected: str) -> None:
    """Of unsigned integers, where the lower bound is 0 and the upper one a constant."""
    body = body_of(
        f"""
func.func @k(%x: memref<?xf32, #tile.space<global>>, %i: index, %j: index, %n: index) attributes {{simt.kernel{bits}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %m1 = arith.constant -1 : index
  %one = arith.constant 1.0 : f32
  %first = arith.cmpi {lower} : index
  %second = arith.cmpi {upper} : index
  %both = arith.andi %first, %second : i1
  scf.if %both {{
    memref.store %one, %x[%i] : memref<?xf32, #tile.space<global>>
  }}
  func.return
}}
"""
    )
    assert expected in body


def test_what_was_read_is_not_read_again_behind_a_barrier() -> None:
    body = body_of(
        """
func.func @k(%x: memref<?xf32, #tile.space<global>>) attributes {simt.kernel, simt.shared_bytes = 16 : i64} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1.0 : f32
  %s = tile.alloc "s" offset 0 : memref<4xf32, #tile.space<shared>>
  %v = memref.load %s[%c0] : memref<4xf32, #tile.space<shared>>
  %w = arith.addf %v, %one : f32
  gpu.barrier
  memref.store %w, %s[%c0] : memref<4xf32, #tile.space<shared>>
  func.return
}
"""
    )
    assert "const float v = s[0];\n  __syncthreads();\n  s[0] = v + 1.0f;" in body


def test_what_was_read_is_not_read_again_behind_an_update() -> None:
    body = body_of(
        """
func.func @k(%x: memref<?xi32, #tile.space<global>>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %v = memref.load %x[%c0] : memref<?xi32, #tile.space<global>>
  %old = tile.atomic add %x[%c0], %one : memref<?xi32, #tile.space<global>>, i32 -> i32
  %w = arith.muli %v, %old : i32
  memref.store %w, %x[%c0] : memref<?xi32, #tile.space<global>>
  func.return
}
"""
    )
    assert (
        "const int v = x[0];\n  const int old = atomicAdd(x, 1);\n  x[0] = int(unsigned(v)" in body
    )


def test_the_end_of_a_loop_is_read_once() -> None:
    body = body_of(
        """
func.func @k(%x: memref<?xi32, #tile.space<global>>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1 : i32
  %n = tile.alloc "n" : memref<1xi32, #tile.space<var>>
  memref.store %one, %n[%c0] : memref<1xi32, #tile.space<var>>
  %v = memref.load %n[%c0] : memref<1xi32, #tile.space<var>>
  %end = arith.index_cast %v : i32 to index
  scf.for %i = %c0 to %end step %c1 {
    %w = memref.load %n[%c0] : memref<1xi32, #tile.space<var>>
    %sum = arith.addi %w, %one : i32
    memref.store %sum, %n[%c0] : memref<1xi32, #tile.space<var>>
  }
  func.return
}
"""
    )
    assert (
        "const int v = n[0];\n  for (int i = 0; i < v; ++i) {\n    n[0] = int(unsigned(n[0])"
        in body
    )


def test_what_was_read_and_cast_is_read_once() -> None:
    body = body_of(
        """
func.func @k(%x: memref<?xi32, #tile.space<global>>) attributes {simt.kernel} {
  %c0 = arith.constant 0 : index
  %one = arith.constant 1 : i32
  %v = memref.load %x[%c0] : memref<?xi32, #tile.space<global>>
  %i = arith.index_cast %v : i32 to index
  memref.store %one, %x[%c0] : memref<?xi32, #tile.space<global>>
  memref.store %one, %x[%i] : memref<?xi32, #tile.space<global>>
  memref.store %one, %x[%i] : memref<?xi32, #tile.space<global>>
  func.return
}
"""
    )
    assert "const int i = x[0];\n  x[0] = 1;\n  x[i] = 1;" in body
