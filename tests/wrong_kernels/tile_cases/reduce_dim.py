"""Reduces a matrix along dimension 2."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M,), "float32")
    with T.Kernel(1, threads=128):
        F = T.alloc_fragment((32, 64), "float32")
        S = T.alloc_fragment((32,), "float32")
        T.copy(A, F)
        T.reduce_sum(F, S, dim=2)
        T.copy(S, B)
    return B


@tw.jit
def fixed(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M,), "float32")
    with T.Kernel(1, threads=128):
        F = T.alloc_fragment((32, 64), "float32")
        S = T.alloc_fragment((32,), "float32")
        T.copy(A, F)
        T.reduce_sum(F, S, dim=1)
        T.copy(S, B)
    return B


def launch(kernel):
    a = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    return kernel(a), a.sum(axis=1)
