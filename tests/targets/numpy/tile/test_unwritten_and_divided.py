"""Results, arguments and quotients: what is a fault, and what is none.

The wrong kernels in `tests/wrong_kernels` have the messages; here is what must not be reported.
"""

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.targets.numpy.api import NumpyFault


@tw.jit
def partly(X, Y):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y: T.Tensor((N,), "float32")
    with T.Kernel(1, threads=32):
        for i in T.Parallel(8):
            Y[i] = X[i]


def test_a_tensor_that_the_caller_filled_may_be_written_in_part():
    y = np.full(16, 5, np.float32)
    partly(np.zeros(16, np.float32), y)
    assert y.tolist() == [0] * 8 + [5] * 8


@tw.jit
def scratch(X):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    S = T.empty((N, 4), "float32")
    Y = T.empty((N,), "float32")
    with T.Kernel(N, threads=32) as bx:
        S[bx, 0] = X[bx]
        Y[bx] = S[bx, 0]
    return Y


def test_a_tensor_that_is_not_returned_need_not_be_filled():
    x = np.arange(5, dtype=np.float32)
    np.testing.assert_array_equal(scratch(x), x)


def test_an_empty_result_has_nothing_to_be_written():
    @tw.jit
    def double(X):
        n = T.dynamic("n")
        X: T.Tensor((n,), "float32")
        Y = T.empty((n,), "float32")
        with T.Kernel(T.ceildiv(n, 32), threads=32) as bx:
            for i in T.Parallel(32):
                Y[bx * 32 + i] = X[bx * 32 + i] * 2
        return Y

    assert double(np.zeros(0, np.float32)).shape == (0,)


def test_arguments_that_are_only_read_may_be_one_array():
    @tw.jit
    def add(A, B):
        N = T.const("N")
        A: T.Tensor((N,), "float32")
        B: T.Tensor((N,), "float32")
        C = T.empty((N,), "float32")
        with T.Kernel(1, threads=32):
            for i in T.Parallel(N):
                C[i] = A[i] + B[i]
        return C

    x = np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(add(x, x), 2 * x)


def test_adjacent_views_of_one_array_do_not_overlap():
    both = np.zeros(32, np.float32)
    both[:16] = 3
    partly(both[:16], both[16:])
    assert both[16:].tolist() == [3] * 8 + [0] * 8


def _divided(form: str) -> Any:
    @tw.jit
    def kernel(A, D):
        N = T.const("N")
        A: T.Tensor((N,), "int32")
        D: T.Tensor((N,), "int32")
        Q = T.empty((N,), "int32")
        with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
            F = T.alloc_fragment((64,), "int32")
            if form == "direct":
                for i in T.Parallel(64):
                    Q[bx * 64 + i] = A[bx * 64 + i] // D[bx * 64 + i]
            elif form == "copied":
                for i in T.Parallel(64):
                    F[i] = A[bx * 64 + i] // D[bx * 64 + i]
                T.copy(F, Q[bx * 64])
            elif form == "loaded":
                for i in T.Parallel(64):
                    F[i] = A[bx * 64 + i] // D[bx * 64 + i]
                for i in T.Parallel(64):
                    Q[bx * 64 + i] = F[i] + 0
            elif form == "branch":
                for i in T.Parallel(64):
                    if A[bx * 64 + i] // D[bx * 64 + i] > 1000:
                        Q[bx * 64 + i] = 0
                    else:
                        Q[bx * 64 + i] = A[bx * 64 + i] // D[bx * 64 + i]
            elif form == "index":
                for i in T.Parallel(64):
                    Q[bx * 64 + i] = A[A[bx * 64 + i] // D[bx * 64 + i]]
        return Q

    return kernel


@pytest.mark.parametrize("form", ["direct", "copied", "loaded", "branch", "index"])
def test_quotients_beyond_the_end_of_a_tensor_are_dropped(form: str):
    """There the divisor reads as zero, and nothing that is computed from it is stored."""
    a, d = np.arange(100, dtype=np.int32), np.full(100, 2, np.int32)
    kernel = _divided(form)
    np.testing.assert_array_equal(kernel(a, d), a[a // 2] if form == "index" else a // 2)
    d[77] = 0
    with pytest.raises(NumpyFault, match="integer division by zero") as caught:
        kernel(a, d)
    assert caught.value.program == (1, 0, 0)


def test_a_reduction_of_padded_quotients_is_a_fault():
    """An access past the end is not dropped there, and reads any value on a GPU."""

    @tw.jit
    def total(A, D):
        N = T.const("N")
        A: T.Tensor((N,), "int32")
        D: T.Tensor((N,), "int32")
        S = T.empty((1,), "int32")
        with T.Kernel(1, threads=64):
            F = T.alloc_fragment((64,), "int32")
            R = T.alloc_fragment((1,), "int32")
            for i in T.Parallel(64):
                F[i] = A[i] // D[i]
            T.reduce_sum(F, R, dim=0)
            S[0] = R[0]
        return S

    with pytest.raises(NumpyFault, match="integer division by zero"):
        total(np.ones(60, np.int32), np.ones(60, np.int32))
    assert total(np.ones(64, np.int32), np.ones(64, np.int32)).tolist() == [64]
