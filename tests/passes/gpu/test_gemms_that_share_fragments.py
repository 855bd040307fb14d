"""Fragments that two GEMMs want in different threads go through shared memory."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, product, whole
from tilewright import T
from tilewright.ir.diagnostics import CompileError

STAGED = "TW2023"


def few(seed: int, *shape: int) -> np.ndarray:
    """Matrices of zeros and ones, mostly zeros: sums of sums are small."""
    return (np.random.default_rng(seed).random(shape) < 0.1).astype(np.float16)


def staged(engine) -> list[str]:
    return [each.message for each in engine.diagnostics if each.code == STAGED]


@pytest.mark.parametrize("rows", [64, 32])
def test_sums_of_one_gemm_are_the_second_operand_of_the_next(rows):
    """Two layouts for one fragment were an error (TW2020)."""

    @tw.jit
    def chained(A):
        A: T.Tensor((rows, rows), "float16")
        C = T.empty((rows, rows), "float16")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((rows, rows), "float16")
            sums = T.alloc_fragment((rows, rows), "float16")
            C_local = T.alloc_fragment((rows, rows), "float16")
            T.copy(A, A_shared)
            T.gemm(A_shared, A_shared, sums, clear_accum=True)
            T.gemm(A_shared, sums, C_local, clear_accum=True)
            T.copy(C_local, C)
        return C

    a = few(0, rows, rows)
    engine = check(chained, a, expected=product(a, product(a, a)).astype(np.float16))
    assert any("'sums' is staged through shared memory here" in each for each in staged(engine))


def test_sums_of_two_gemms_with_other_partitions():
    @tw.jit
    def added(A, B):
        A: T.Tensor((64, 32), "float16")
        B: T.Tensor((32, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 32), "float16")
            b = T.alloc_shared((32, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            for _ in T.serial(2):
                T.gemm(a, b, c, policy=T.GemmWarpPolicy.FullRow)
                T.gemm(a[0:64, 0:8], b[0:8, 0:64], c, policy=T.GemmWarpPolicy.FullCol)
            T.copy(c, C)
        return C

    a, b = whole(1, 64, 32), whole(2, 32, 64)
    expected = 2 * (product(a, b) + product(a[:, :8], b[:8]))
    engine = check(added, a, b, expected=expected)
    assert any(
        "is copied to another fragment and back around this GEMM" in each for each in staged(engine)
    )


def test_one_fragment_is_the_first_and_the_second_operand():
    @tw.jit
    def squared(A):
        A: T.Tensor((32, 32), "float16")
        C = T.empty((32, 32), "float32")
        with T.Kernel(1, threads=64):
            a = T.alloc_fragment((32, 32), "float16")
            c = T.alloc_fragment((32, 32), "float32")
            T.copy(A, a)
            T.gemm(a, a, c, clear_accum=True)
            T.copy(c, C)
        return C

    a = few(3, 32, 32)
    check(squared, a, expected=product(a, a))


def test_a_layout_of_the_kernel_is_not_worked_around():
    @tw.jit
    def annotated(A):
        A: T.Tensor((64, 64), "float16")
        C = T.empty((64, 64), "float16")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float16")
            T.annotate_layout({c: T.Fragment((64, 64), forward_fn=lambda i, j: (i, j))})
            T.copy(A, a)
            T.gemm(a, a, c, clear_accum=True)
            T.copy(c, C)
        return C

    with pytest.raises(CompileError, match="TW2020"):
        check(annotated, few(4, 64, 64), expected=np.zeros((64, 64), np.float16))
