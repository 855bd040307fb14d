"""Gives two statements the same place."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, M), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((32, 16), "float32")
        C = T.alloc_fragment((32, 32), "float32")
        T.clear(C)
        for k in T.Pipelined(4, stage=[0, 1], order=[0, 0]):
            T.copy(A[0, k * 16], S)
            T.gemm(S, S, C, transpose_B=True)
        T.copy(C, B)
    return B


@tw.jit
def fixed(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, M), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((32, 16), "float32")
        C = T.alloc_fragment((32, 32), "float32")
        T.clear(C)
        for k in T.Pipelined(4, stage=[0, 1], order=[0, 1]):
            T.copy(A[0, k * 16], S)
            T.gemm(S, S, C, transpose_B=True)
        T.copy(C, B)
    return B


def launch(kernel):
    a = (np.arange(32 * 64) % 7).astype(np.float32).reshape(32, 64)
    return kernel(a), a @ a.T
