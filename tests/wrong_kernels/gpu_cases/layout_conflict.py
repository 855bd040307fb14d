"""Gives sums a layout of its own, which the instruction that adds them up does not have."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((64, 64), "float16")
    C = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 64), "float16")
        sums = T.alloc_fragment((64, 64), "float32")
        T.annotate_layout({sums: T.Fragment((64, 64), forward_fn=lambda i, j: (i, j))})
        T.copy(A, A_shared)
        T.gemm(A_shared, A_shared, sums, clear_accum=True)
        T.copy(sums, C)
    return C


@tw.jit
def fixed(A):
    A: T.Tensor((64, 64), "float16")
    C = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 64), "float16")
        sums = T.alloc_fragment((64, 64), "float32")
        T.copy(A, A_shared)
        T.gemm(A_shared, A_shared, sums, clear_accum=True)
        T.copy(sums, C)
    return C


def arguments():
    rng = np.random.default_rng(0)
    return (rng.integers(0, 2, (64, 64)).astype(np.float16),)


def expected(a):
    return a.astype(np.float32) @ a.astype(np.float32)
