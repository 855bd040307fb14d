"""Kernels beyond GEMM on the simulated chip: element-wise, reductions, norms, attention."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.tenstorrent.execution import BF16_BOUND, executed, relative_error
from tilewright import T
from tilewright.runtime.tile.kernel import CompiledTileKernel
from tilewright.runtime.tile.trace_only import tracing_only

EXAMPLES = Path(__file__).parents[3] / "examples" / "tile"
BF16 = ml_dtypes.bfloat16
FP32_BOUND = 1e-5


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tt_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def traced(kernel: Any, *arguments: Any, **options: Any) -> ModuleOp:
    """The IR of an eager kernel for some arguments."""
    found: list[CompiledTileKernel] = []
    with tracing_only(found.append):
        kernel(*arguments, **options)
    return found[0].prim_func.module


def outputs(module: ModuleOp, arrays: Sequence[Any], **options: Any) -> list[Any]:
    return executed(module, arrays, **options).outputs


def random(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("shape", [(1, 1), (33, 31), (113, 201)])
def test_addition(shape: tuple[int, int]) -> None:
    a, b = random(2, *shape)
    (c,) = outputs(traced(example("elementwise_add").add, a, b), [a, b, None], cores="2x2")
    assert relative_error(c, a.astype(np.float64) + b) < FP32_BOUND


def test_fused_addition_and_relu() -> None:
    """Two reads and one write per tile, and no buffer for the sum."""

    @T.prim_func
    def kernel(
        A: T.Tensor((128, 96), T.bfloat16),
        B: T.Tensor((128, 96), T.bfloat16),
        C: T.Tensor((128, 96), T.bfloat16),
    ):
        with T.Kernel(3, 4) as (bx, by):
            a = T.alloc_shared((32, 32), T.bfloat16)
            b = T.alloc_shared((32, 32), T.bfloat16)
            c = T.alloc_fragment((32, 32), T.bfloat16)
            T.copy(A[by * 32, bx * 32], a)
            T.copy(B[by * 32, bx * 32], b)
            for i, j in T.Parallel(32, 32):
                c[i, j] = a[i, j] + b[i, j]
            for i, j in T.Parallel(32, 32):
                c[i, j] = T.max(c[i, j], 0)
            T.copy(c, C[by * 32, bx * 32])

    a, b = random(2, 128, 96, dtype=BF16)
    outcome = executed(kernel.module, [a, b, None], cores="2x2", seeds=(0, 1, 2))
    expected = np.maximum(a.astype(np.float64) + b.astype(np.float64), 0)
    assert relative_error(outcome.outputs[0], expected) < BF16_BOUND
    assert [each.index for each in outcome.plan.cbs] == [0, 1, 16]
    assert (outcome.plan.traffic.dram_page_reads, outcome.plan.traffic.dram_page_writes) == (24, 12)


def test_bias_and_relu_after_a_gemm() -> None:
    @T.prim_func
    def kernel(
        A: T.Tensor((64, 64), T.bfloat16),
        B: T.Tensor((64, 96), T.bfloat16),
        bias: T.Tensor((96,), T.bfloat16),
        C: T.Tensor((64, 96), T.bfloat16),
    ):
        with T.Kernel(3, 1) as (bx, by):
            a = T.alloc_shared((64, 32), T.bfloat16)
            b = T.alloc_shared((32, 32), T.bfloat16)
            c = T.alloc_fragment((64, 32), T.float32)
            d = T.alloc_shared((32,), T.bfloat16)
            T.copy(bias[bx * 32], d)
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[by * 64, k * 32], a)
                T.copy(B[k * 32, bx * 32], b)
                T.gemm(a, b, c)
            for i, j in T.Parallel(64, 32):
                c[i, j] = T.max(c[i, j] + d[j], 0)
            T.copy(c, C[by * 64, bx * 32])

    a, b = random(64, 64, dtype=BF16), random(64, 96, dtype=BF16)
    d = random(96, dtype=BF16)
    outcome = executed(kernel.module, [a, b, d, None], cores="2x1")
    expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64) + d.astype(np.float64), 0)
    assert relative_error(outcome.outputs[0], expected) < BF16_BOUND
    assert outcome.plan.compute.strategy == "whole"
    assert {each.index for each in outcome.plan.cbs} == {0, 1, 2, 3, 16}


def test_gemm_and_relu_of_the_examples() -> None:
    a, b = random(70, 100, dtype=np.float16), random(100, 65, dtype=np.float16)
    (c,) = outputs(traced(example("gemm_relu").matmul_relu, a, b), [a, b, None], cores="2x2")
    expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
    assert relative_error(c, expected) < BF16_BOUND


@pytest.mark.parametrize("name", ["rms_norm", "rms_norm_in_pieces"])
@pytest.mark.parametrize("shape", [(1, 37), (22, 100)])
def test_rms_norm(name: str, shape: tuple[int, int]) -> None:
    a = random(*shape)
    exact = a.astype(np.float64)
    expected = exact / np.sqrt((exact**2).mean(axis=1, keepdims=True) + 1e-12)
    kernel = getattr(example("rms_norm"), name)
    (b,) = outputs(traced(kernel, a), [a, None], cores="2x1")
    assert relative_error(b, expected) < FP32_BOUND


def softmax(m: int, n: int) -> ModuleOp:
    @T.prim_func
    def kernel(X: T.Tensor((m, n), T.bfloat16), Y: T.Tensor((m, n), T.bfloat16)):
        with T.Kernel(T.ceildiv(m, 32)) as bx:
            x = T.alloc_fragment((32, n), T.float32)
            largest = T.alloc_fragment((32,), T.float32)
            total = T.alloc_fragment((32,), T.float32)
            T.copy(X[bx * 32, 0], x)
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(32, n):
                x[i, j] = T.exp(x[i, j] - largest[i])
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(32, n):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Y[bx * 32, 0])

    return kernel.module


@pytest.mark.parametrize("columns", [96, 90])
def test_softmax(columns: int) -> None:
    x = random(64, columns, dtype=BF16) - BF16(3)  # negative maxima show wrong padding
    (y,) = outputs(softmax(64, columns), [x, None], cores="2x1", seeds=(0, 1))
    powers = np.exp(x.astype(np.float64))
    assert relative_error(y, powers / powers.sum(axis=1, keepdims=True)) < BF16_BOUND


def test_online_softmax_of_the_examples() -> None:
    x = random(3, 70)
    (y,) = outputs(traced(example("online_softmax").softmax, x), [x, None], cores="2x1")
    powers = np.exp(x.astype(np.float64))
    assert relative_error(y, powers / powers.sum(axis=1, keepdims=True)) < FP32_BOUND


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_of_the_examples(is_causal: bool) -> None:
    attention = example("attention")
    q, k, v = random(3, 1, 70, 2, 32, dtype=np.float16)
    kernel = attention.attention(1, 2, 70, 32, is_causal, block_M=32)
    results = outputs(traced(kernel, q, k, v), [q, k, v, None, None], cores="2x1")
    for result, expected in zip(results, attention.reference(q, k, v, is_causal), strict=True):
        assert relative_error(result, expected) < BF16_BOUND


def test_split_k_of_the_examples() -> None:
    a, b = random(64, 128, dtype=np.float16), random(128, 32, dtype=np.float16)
    c = random(64, 32)
    module = traced(example("split_k").matmul_split_k, a, b, c.copy(), split_k=2)
    (result,) = outputs(module, [a, b, c], cores="2x1")
    assert relative_error(result, a.astype(np.float64) @ b + c) < FP32_BOUND


def test_transposed_first_operand() -> None:
    @T.prim_func
    def kernel(
        A: T.Tensor((50, 64), T.bfloat16),
        B: T.Tensor((50, 32), T.bfloat16),
        C: T.Tensor((64, 32), T.bfloat16),
    ):
        with T.Kernel(1, 2) as (bx, by):
            a = T.alloc_shared((32, 32), T.bfloat16)
            b = T.alloc_shared((32, 32), T.bfloat16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.clear(c)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[k * 32, by * 32], a)
                T.copy(B[k * 32, bx * 32], b)
                T.gemm(a, b, c, transpose_A=True)
            T.copy(c, C[by * 32, bx * 32])

    a, b = random(50, 64, dtype=BF16), random(50, 32, dtype=BF16)
    (c,) = outputs(kernel.module, [a, b, None], cores="2x1")
    assert relative_error(c, a.astype(np.float64).T @ b.astype(np.float64)) < BF16_BOUND


def test_batched_gemm() -> None:
    @T.prim_func
    def kernel(
        A: T.Tensor((3, 40, 72), T.bfloat16),
        B: T.Tensor((3, 72, 33), T.bfloat16),
        C: T.Tensor((3, 40, 33), T.float32),
    ):
        with T.Kernel(2, 2, 3) as (bx, by, bz):
            a = T.alloc_shared((32, 32), T.bfloat16)
            b = T.alloc_shared((32, 32), T.bfloat16)
            c = T.alloc_fragment((32, 32), T.float32)
            T.clear(c)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[bz, by * 32, k * 32], a)
                T.copy(B[bz, k * 32, bx * 32], b)
                T.gemm(a, b, c)
            T.copy(c, C[bz, by * 32, bx * 32])

    a, b = random(3, 40, 72, dtype=BF16), random(3, 72, 33, dtype=BF16)
    (c,) = outputs(kernel.module, [a, b, None], cores="2x2")
    assert relative_error(c, a.astype(np.float64) @ b.astype(np.float64)) < FP32_BOUND


def test_reductions() -> None:
    """All kinds, along rows and columns, over partly filled tiles."""
    rows, columns = 50, 45

    @T.prim_func
    def kernel(
        X: T.Tensor((rows, columns), T.float32),
        Y: T.Tensor((5, rows), T.float32),
        Z: T.Tensor((columns,), T.float32),
    ):
        with T.Kernel(1):
            x = T.alloc_fragment((rows, columns), T.float32)
            y = T.alloc_fragment((rows,), T.float32)
            z = T.alloc_fragment((columns,), T.float32)
            T.copy(X, x)
            T.reduce_sum(x, y, dim=1)
            T.copy(y, Y[0, 0:rows])
            T.reduce_max(x, y, dim=1)
            T.copy(y, Y[1, 0:rows])
            T.reduce_min(x, y, dim=1)
            T.copy(y, Y[2, 0:rows])
            T.reduce_absmax(x, y, dim=1)
            T.copy(y, Y[3, 0:rows])
            T.fill(y, -2.0)
            T.reduce_min(x, y, dim=1, clear=False)
            T.copy(y, Y[4, 0:rows])
            T.reduce_max(x, z, dim=0)
            T.copy(z, Z)

    x = random(rows, columns) - 2
    y, z = outputs(kernel.module, [x, None, None])
    low = x.min(axis=1)
    expected = [x.sum(axis=1), x.max(axis=1), low, np.abs(x).max(axis=1), np.minimum(-2, low)]
    np.testing.assert_allclose(y, expected, rtol=1e-5)
    np.testing.assert_allclose(z, x.max(axis=0), rtol=1e-6)


def test_gemm_of_computed_operands() -> None:
    """K is no whole tile: what follows it must not be added, whatever it is."""

    @T.prim_func
    def kernel(
        A: T.Tensor((32, 20), T.float32),
        B: T.Tensor((20, 32), T.float32),
        C: T.Tensor((32, 32), T.float32),
    ):
        with T.Kernel(1):
            a = T.alloc_fragment((32, 20), T.float32)
            b = T.alloc_shared((20, 32), T.float32)
            c = T.alloc_fragment((32, 32), T.float32)
            T.copy(A, a)
            T.copy(B, b)
            for i, j in T.Parallel(32, 20):
                a[i, j] = T.exp(a[i, j])
            for i, j in T.Parallel(20, 32):
                b[i, j] = 1.0 / (b[i, j] * b[i, j])
            T.clear(c)
            T.gemm(a, b, c)
            T.copy(c, C)

    a, b = random(32, 20), random(20, 32)
    (c,) = outputs(kernel.module, [a, b, None])
    expected = np.exp(a.astype(np.float64)) @ (1 / b.astype(np.float64) ** 2)
    assert relative_error(c, expected) < FP32_BOUND
