"""Kernels of public reports about TileLang's products: shapes, operands, and what is around them.

As in `test_bug_seeds`, numbers are those of issues in tile-ai/tilelang, and kernels are our own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, product, whole
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline


def pipelined(
    rows: int, columns: int, step: int, dtype: str = "float16", threads: int = 128, **options: Any
) -> Any:
    """A product in two steps along K; rows of B are columns of the result."""
    sums = "int32" if dtype == "int8" else "float32"

    @tw.jit
    def multiply(A, B):
        A: T.Tensor((rows, 2 * step), dtype)
        B: T.Tensor((columns, 2 * step), dtype)
        C = T.empty((rows, columns), sums)
        with T.Kernel(1, threads=threads):
            A_shared = T.alloc_shared((rows, step), dtype)
            B_shared = T.alloc_shared((columns, step), dtype)
            total = T.alloc_fragment((rows, columns), sums)
            T.clear(total)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * step], A_shared)
                T.copy(B[0, k * step], B_shared)
                T.gemm(A_shared, B_shared, total, transpose_B=True, **options)
            T.copy(total, C)
        return C

    return multiply


def operands(
    rows: int, columns: int, depth: int, dtype: str = "float16"
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A, B with its rows as columns of the result, and the result."""
    type = T.dtype(dtype).as_numpy()
    a, b = whole(0, rows, depth).astype(type), whole(1, columns, depth).astype(type)
    return a, b, product(a, b.T).astype("int32" if dtype == "int8" else "float32")


@pytest.mark.parametrize("columns", [24, 40, 56])
def test_2593_columns_that_are_no_multiple_of_sixteen(columns):
    a, b, expected = operands(64, columns, 128)
    check(pipelined(64, columns, 64), a, b, expected=expected)


def test_2522_rows_for_more_than_one_warp_group():
    a, b, expected = operands(256, 32, 64)
    kernel = pipelined(256, 32, 32, threads=256, policy=T.GemmWarpPolicy.FullRow)
    check(kernel, a, b, expected=expected)


@pytest.mark.parametrize(
    ("dtype", "step"), [("int8", 16), ("float8_e4m3fn", 16), ("bfloat16", 8), ("float16", 8)]
)
def test_3032_steps_along_k_that_are_shorter_than_the_usual_instruction(dtype, step):
    a, b, expected = operands(64, 64, 2 * step, dtype)
    check(pipelined(64, 64, step, dtype), a, b, expected=expected)


@pytest.mark.parametrize(("dtype", "step", "fits"), [("int8", 8, 16), ("float16", 12, 16)])
def test_2715_steps_along_k_that_no_instruction_has(dtype, step, fits):
    a, b, c = operands(64, 64, 2 * step, dtype)
    multiply = pipelined(64, 64, step, dtype)
    check(multiply, a, b, expected=c)  # on CUDA cores
    engine = DiagnosticEngine()
    GpuPipeline().run(multiply.get_tir(a, b).module.clone(), engine)
    warning, *_ = [each for each in engine.diagnostics if each.code == "TW3008"]
    text = "\n".join([warning.message, *(note.message for note in warning.notes)])
    assert f"K = {step} is not a multiple" in text
    assert f"tiles with K = {fits}" in text


def test_2715_tiles_that_fit_reach_beyond_the_tensor():
    @tw.jit
    def multiply(A, B):
        A: T.Tensor((64, 12), "float16")
        B: T.Tensor((12, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 16), "float16")
            b = T.alloc_shared((16, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.copy(A[0:64, 0:16], a)
            T.copy(B[0:16, 0:64], b)
            T.gemm(a, b, total, clear_accum=True)
            T.copy(total, C)
        return C

    a, b = whole(11, 64, 12), whole(12, 12, 64)
    check(multiply, a, b, expected=product(a, b))


@pytest.mark.parametrize("start", [7.0, 0.0])
def test_2617_both_operands_in_registers_and_a_sum_that_is_cleared(start):
    @tw.jit
    def multiply(A, B):
        A: T.Tensor((64, 64), "float16")
        B: T.Tensor((64, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_fragment((64, 64), "float16")
            b = T.alloc_fragment((64, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.fill(total, start)
            T.gemm(a, b, total, clear_accum=start != 0.0)
            T.copy(total, C)
        return C

    a, b = whole(2, 64, 64), whole(3, 64, 64)
    check(multiply, a, b, expected=product(a, b))


def test_2964_parts_of_an_operand_that_is_wider_than_a_swizzle():
    @tw.jit
    def halves(A, B):
        A: T.Tensor((64, 128), "float16")
        B: T.Tensor((128, 128), "float16")
        C = T.empty((64, 128), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 128), "float16")
            b = T.alloc_shared((128, 128), "float16")
            first = T.alloc_fragment((64, 64), "float32")
            second = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b[0:64, :], first, transpose_B=True, clear_accum=True)
            T.gemm(a, b[64:128, :], second, transpose_B=True, clear_accum=True)
            T.copy(first, C[0, 0])
            T.copy(second, C[0, 64])
        return C

    a, b = whole(4, 64, 128), whole(5, 128, 128)
    check(halves, a, b, expected=product(a, b.T))


def test_2443_a_line_is_fetched_before_a_pipelined_product():
    @tw.jit
    def with_bias(A, B, Bias):
        A: T.Tensor((64, 128), "float16")
        B: T.Tensor((128, 64), "float16")
        Bias: T.Tensor((64,), "float32")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            bias = T.alloc_shared((64,), "float32")
            total = T.alloc_fragment((64, 64), "float32")
            T.copy(Bias[0:64], bias)
            T.clear(total)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, total)
            for i, j in T.Parallel(64, 64):
                total[i, j] = T.max(total[i, j] + bias[j], 0.0)
            T.copy(total, C)
        return C

    a, b, bias = whole(6, 64, 128), whole(7, 128, 64), whole(8, 64, dtype="float32")
    check(with_bias, a, b, bias, expected=np.maximum(product(a, b) + bias, 0))


def test_2311_neighbouring_columns_of_a_product_are_combined():
    @tw.jit
    def pairs(A, B):
        A: T.Tensor((16, 32), "float16")
        B: T.Tensor((32, 64), "float16")
        C = T.empty((16, 32), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((16, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            total = T.alloc_fragment((16, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.gemm(a, b, total, policy=T.GemmWarpPolicy.FullRow, clear_accum=True)
            for i, j in T.Parallel(16, 32):
                C[i, j] = total[i, 2 * j] * total[i, 2 * j + 1]
        return C

    a, b = whole(9, 16, 32), whole(10, 32, 64)
    found = product(a, b)
    check(pairs, a, b, expected=found[:, ::2] * found[:, 1::2])
