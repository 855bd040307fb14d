"""GEMMs that no tensor-core instruction does are right on CUDA cores, and a warning says why."""

from __future__ import annotations

import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import by_threads, check, lowered, product, whole
from tests.targets.cuda.host_run import run_on_host
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.expand_gemms import NO_TENSOR_CORES
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer

DTYPES = {"bfloat16": ml_dtypes.bfloat16, "float8_e4m3fn": ml_dtypes.float8_e4m3fn}


def gemm_of(m, n, k, threads, dtype="float16", sums="float32", turned="", clear=True):
    turns = {"transpose_A": "A" in turned, "transpose_B": "B" in turned}
    a_shape = (k, m) if "A" in turned else (m, k)
    b_shape = (n, k) if "B" in turned else (k, n)

    @tw.jit
    def multiply(A, B):
        A: T.Tensor(a_shape, dtype)
        B: T.Tensor(b_shape, dtype)
        C = T.empty((m, n), sums)
        with T.Kernel(1, threads=threads):
            a = T.alloc_shared(a_shape, dtype)
            b = T.alloc_shared(b_shape, dtype)
            c = T.alloc_fragment((m, n), sums)
            T.copy(A, a)
            T.copy(B, b)
            T.fill(c, 1)
            T.gemm(a, b, c, clear_accum=clear, **turns)
            T.copy(c, C)
        return C

    return multiply


def drawn(seed: int, *shape: int, dtype: str) -> np.ndarray:
    low = 0 if dtype == "uint8" else -3
    values = np.random.default_rng(seed).integers(low, 4, shape)
    return values.astype(DTYPES.get(dtype, dtype))


def warned(engine: DiagnosticEngine) -> list[str]:
    return [each.message for each in engine.diagnostics if each.code == NO_TENSOR_CORES]


@pytest.mark.parametrize(
    ("m", "n", "k", "threads", "reason"),
    [
        (8, 16, 16, 32, "M = 8 is not a multiple of 16"),
        (1, 8, 16, 128, "M = 1 is not a multiple of 16"),
        (16, 12, 16, 32, "N = 12 is not a multiple of 8"),
        (64, 64, 20, 128, "K = 20 is not a multiple of 8"),
        (16, 16, 1, 64, "K = 1 is not a multiple of 8"),
        (16, 8, 16, 256, "16 x 8 cannot be split over 8 warps"),
        (64, 64, 32, 96, "64 x 64 cannot be split over 3 warps"),
        (16, 16, 16, 100, "100 threads run the GEMM, not a multiple of 32"),
        (5, 7, 3, 48, "48 threads run the GEMM"),
    ],
)
def test_shapes_that_no_instruction_has(m, n, k, threads, reason):
    a, b = whole(0, m, k), whole(1, k, n)
    engine = check(gemm_of(m, n, k, threads), a, b, expected=product(a, b), cubin=False)
    (message,) = warned(engine)
    assert message.startswith(f"tensor cores not used for this GEMM: {reason}")


@pytest.mark.parametrize(
    ("dtype", "sums"),
    [
        ("float64", "float64"),
        ("bfloat16", "float16"),
        ("float16", "float16"),
        ("int8", "int32"),
        ("uint8", "int32"),
        ("int16", "int32"),
        ("int32", "int64"),
        ("float8_e4m3fn", "float32"),
    ],
)
def test_types_that_no_instruction_has(dtype, sums):
    a, b = drawn(2, 12, 20, dtype=dtype), drawn(3, 20, 9, dtype=dtype)
    wide = np.float64 if "float" in dtype else np.int64
    expected = (a.astype(wide) @ b.astype(wide)).astype(DTYPES.get(sums, sums))
    engine = check(gemm_of(12, 9, 20, 64, dtype, sums), a, b, expected=expected, cubin=False)
    assert warned(engine)


@pytest.mark.parametrize("turned", ["A", "B", "AB"])
def test_transposed_operands_are_added_to_what_was_there(turned):
    a, b = whole(4, 8, 24), whole(5, 24, 20)
    given = (a.T.copy() if "A" in turned else a, b.T.copy() if "B" in turned else b)
    kernel = gemm_of(8, 20, 24, 64, turned=turned, clear=False)
    check(kernel, *given, expected=product(a, b) + 1)


def test_operands_in_fragments_go_through_shared_memory():
    @tw.jit
    def chained(A, B):
        A: T.Tensor((8, 24), "float16")
        B: T.Tensor((24, 8), "float16")
        C = T.empty((8, 24), "float32")
        with T.Kernel(1, threads=64):
            a = T.alloc_fragment((8, 24), "float16")
            b = T.alloc_fragment((24, 8), "float16")
            first = T.alloc_fragment((8, 8), "float32")
            again = T.alloc_fragment((8, 8), "float16")
            c = T.alloc_fragment((8, 24), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, first, clear_accum=True)
            T.copy(first, again)
            T.gemm(again, b, c, transpose_B=True, clear_accum=True)
            T.copy(c, C)
        return C

    a, b = whole(6, 8, 24) % 2, whole(7, 24, 8) % 2
    check(chained, a, b, expected=product(product(a, b), b.T))


@pytest.mark.parametrize("stages", [0, 2, 3])
def test_a_pipelined_loop_with_roles(stages):
    """The first iteration replaces the sums; parts of buffers are operands."""

    @tw.jit
    def pipelined(A, B):
        A: T.Tensor((8, 96), "float16")
        B: T.Tensor((96, 24), "float16")
        C = T.empty((8, 24), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((8, 32), "float16")
            b = T.alloc_shared((32, 24), "float16")
            c = T.alloc_fragment((8, 24), "float32")
            for k in T.Pipelined(3, num_stages=stages):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a[0:8, 0:16], b[0:16, 0:24], c, clear_accum=k == 0)
                T.gemm(a[0:8, 16:32], b[16:32, 0:24], c)
            T.copy(c, C)
        return C

    a, b = whole(8, 8, 96), whole(9, 96, 24)
    check(pipelined, a, b, expected=product(a, b))


def test_beside_one_that_uses_tensor_cores():
    """Both add to one accumulator, of which each wants elements in other threads."""

    @tw.jit
    def both(A, B):
        A: T.Tensor((64, 52), "float16")
        B: T.Tensor((52, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 48), "float16")
            b = T.alloc_shared((48, 64), "float16")
            rest_a = T.alloc_shared((64, 4), "float16")
            rest_b = T.alloc_shared((4, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A[0:64, 0:48], a)
            T.copy(B[0:48, 0:64], b)
            T.copy(A[0:64, 48:52], rest_a)
            T.copy(B[48:52, 0:64], rest_b)
            T.gemm(a, b, c, clear_accum=True)
            T.gemm(rest_a, rest_b, c)
            T.copy(c, C)
        return C

    a, b = whole(10, 64, 52), whole(11, 52, 64)
    engine = check(both, a, b, expected=product(a, b))
    assert len(warned(engine)) == 1


@pytest.mark.skipif(shutil.which("g++") is None, reason="the text is not run: there is no g++ here")
def test_the_text_runs_on_the_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    kernel, a, b = gemm_of(8, 12, 20, 64, clear=False), whole(12, 8, 20), whole(13, 20, 12)
    module = kernel.get_tir(a, b).module.clone()
    engine = DiagnosticEngine()
    GpuPipeline(target="cuda:sm_80", wgmma=False).run(module, engine)
    engine.raise_if_errors()
    c = np.full((8, 12), -77, np.float32)
    run_on_host(module, [Buffer("A", a), Buffer("B", b), Buffer("C", c)], tmp_path, monkeypatch)
    np.testing.assert_array_equal(c, product(a, b) + 1)


def test_float32_is_not_rounded_to_tf32_there():
    """CUDA cores multiply float32 exactly as it is."""
    a = np.full((8, 4), 1 + 2.0**-20, np.float32)
    b = np.eye(4, 8, dtype=np.float32)
    kernel = gemm_of(8, 8, 4, 32, dtype="float32")
    module, engine = lowered(kernel, a, b)
    assert "TW3007" not in [each.code for each in engine.diagnostics]
    found = by_threads(kernel, module, (a, b), product(a, b))
    np.testing.assert_array_equal(found, product(a, b))
