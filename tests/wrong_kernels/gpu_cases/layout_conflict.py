"""Multiplies by sums that lie as accumulators do, not as operands."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((64, 64), "float16")
    C = T.empty((64, 64), "float16")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 64), "float16")
        sums = T.alloc_fragment((64, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float16")
        T.copy(A, A_shared)
        T.gemm(A_shared, A_shared, sums, clear_accum=True)
        T.gemm(A_shared, sums, C_local, clear_accum=True)
        T.copy(C_local, C)
    return C


@tw.jit
def fixed(A):
    A: T.Tensor((64, 64), "float16")
    C = T.empty((64, 64), "float16")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 64), "float16")
        sums = T.alloc_fragment((64, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float16")
        T.copy(A, A_shared)
        T.gemm(A_shared, A_shared, sums, clear_accum=True)
        sums_shared = T.alloc_shared((64, 64), "float16")
        T.copy(sums, sums_shared)
        T.gemm(A_shared, sums_shared, C_local, clear_accum=True)
        T.copy(C_local, C)
    return C


def arguments():
    rng = np.random.default_rng(0)
    return (rng.integers(0, 2, (64, 64)).astype(np.float16),)


def expected(a):
    return a @ (a @ a)
