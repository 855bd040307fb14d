"""Loops written by hand: GEMMs are recognised in their strict form, tensors are staged."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.tenstorrent.execution import BF16_BOUND, compiled, executed, relative_error
from tilewright import T
from tilewright.ir.diagnostics import CompileError

M, N, K = 40, 64, 70


def gemm(body: str) -> ModuleOp:
    """A GEMM whose inner part is given as a variant."""
    bm, bn, bk = 32, 32, 32

    @T.prim_func
    def gemm(
        A: T.Tensor((M, K), T.bfloat16),
        B: T.Tensor((K, N), T.bfloat16),
        C: T.Tensor((M, N), T.bfloat16),
    ):
        with T.Kernel(T.ceildiv(N, bn), T.ceildiv(M, bm)) as (bx, by):
            a = T.alloc_shared((bm, bk), T.bfloat16)
            b = T.alloc_shared((bk, bn), T.bfloat16)
            c = T.alloc_fragment((bm, bn), T.float32)
            T.clear(c)
            for step in T.Pipelined(T.ceildiv(K, bk), num_stages=2):
                T.copy(A[by * bm, step * bk], a)
                T.copy(B[step * bk, bx * bn], b)
                if body == "inner":
                    for i, j in T.Parallel(bm, bn):
                        for k in T.serial(bk):
                            c[i, j] += a[i, k] * b[k, j]
                elif body == "outer":
                    for x in T.serial(bk):
                        for p, q in T.Parallel(bm, bn):
                            c[p, q] = b[x, q] * a[p, x] + c[p, q]
                elif body == "hadamard":
                    for i, j in T.Parallel(bm, bn):
                        for _ in T.serial(bk):
                            c[i, j] += a[i, j] * b[i, j]
                elif body == "indexed by k":
                    for i, j in T.Parallel(bm, bn):
                        for k in T.serial(bk):
                            c[i, k] += a[i, k] * b[k, j]
                elif body == "subtraction":
                    for i, j in T.Parallel(bm, bn):
                        for k in T.serial(bk):
                            c[i, j] -= a[i, k] * b[k, j]
            T.copy(c, C[by * bm, bx * bn])

    return gemm.module


@pytest.mark.parametrize("body", ["inner", "outer"])
def test_gemm_written_as_loops(body: str) -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal((M, K)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((K, N)).astype(ml_dtypes.bfloat16)
    outcome = executed(gemm(body), [a, b, None], cores="2x1")
    expected = a.astype(np.float64) @ b.astype(np.float64)
    assert relative_error(outcome.outputs[0], expected) < BF16_BOUND
    assert outcome.plan.compute.strategy == "whole"
    assert [each.index for each in outcome.plan.cbs] == [0, 1, 16]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("hadamard", "accumulate element by element"),
        ("indexed by k", "no index runs over both factors and not over the result"),
        ("subtraction", r"the store is not C\[i, j\] = C\[i, j\] \+ X \* Y"),
    ],
)
def test_loops_that_are_no_gemm(body: str, reason: str) -> None:
    with pytest.raises(CompileError, match=f"TW7070.*{reason}"):
        compiled(gemm(body))


def test_names_play_no_role() -> None:
    """Renaming loop variables and buffers leaves the kernels unchanged."""

    @T.prim_func
    def other(
        A: T.Tensor((M, K), T.bfloat16),
        B: T.Tensor((K, N), T.bfloat16),
        C: T.Tensor((M, N), T.bfloat16),
    ):
        with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32)) as (q, r):
            kt = T.alloc_shared((32, 32), T.bfloat16)
            out = T.alloc_shared((32, 32), T.bfloat16)
            inp = T.alloc_fragment((32, 32), T.float32)
            T.clear(inp)
            for z in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[r * 32, z * 32], kt)
                T.copy(B[z * 32, q * 32], out)
                for c, b in T.Parallel(32, 32):
                    for a in T.serial(32):
                        inp[c, b] += kt[c, a] * out[a, b]
            T.copy(inp, C[r * 32, q * 32])

    one, two = compiled(gemm("inner"))[1], compiled(other.module)[1]
    assert [(each.index, each.pages) for each in one.cbs] == [
        (each.index, each.pages) for each in two.cbs
    ]
    assert one.traffic == two.traffic
    assert one.kernels == two.kernels


def run(module: ModuleOp, *arrays: Any) -> Any:
    return executed(module, arrays, cores="2x1").outputs[0]


def test_tensors_in_element_wise_loops() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((300,), T.float32), Y: T.Tensor((300,), T.float32)):
        with T.Kernel(T.ceildiv(300, 64)) as bx:
            for i in T.Parallel(64):
                Y[bx * 64 + i] = T.exp(X[bx * 64 + i])

    x = np.random.default_rng(0).standard_normal(300).astype(np.float32)
    np.testing.assert_allclose(run(kernel.module, x, None), np.exp(x), rtol=1e-6)


def test_stores_under_a_condition() -> None:
    @T.prim_func
    def kernel(
        X: T.Tensor((50, 70), T.float32),
        b: T.Tensor((70,), T.float32),
        Y: T.Tensor((50, 70), T.float32),
    ):
        with T.Kernel(3, 2) as (bx, by):
            for i, j in T.Parallel(32, 32):
                if by * 32 + i < 40 and bx * 32 + j < 70:
                    Y[by * 32 + i, bx * 32 + j] = X[by * 32 + i, bx * 32 + j] + b[bx * 32 + j]

    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 50, 70)).astype(np.float32)
    b = rng.standard_normal(70).astype(np.float32)
    result = run(kernel.module, x, b, y)
    np.testing.assert_array_equal(result[:40], x[:40] + b)
    np.testing.assert_array_equal(result[40:], y[40:])


def test_single_elements_are_refused() -> None:
    @T.prim_func
    def kernel(X: T.Tensor((64, 64), T.float32), Y: T.Tensor((4096,), T.float32)):
        with T.Kernel(1):
            for i, j in T.Parallel(64, 64):
                Y[i * 64 + j] = X[i, j]

    with pytest.raises(CompileError, match=r"TW7070.*not one loop index plus an offset"):
        compiled(kernel.module)
