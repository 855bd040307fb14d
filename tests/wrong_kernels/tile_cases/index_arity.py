"""Reads a matrix with one index."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128):
        for i, j in T.Parallel(32, 64):
            B[i, j] = A[i] * 2
    return B


@tw.jit
def fixed(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128):
        for i, j in T.Parallel(32, 64):
            B[i, j] = A[i, j] * 2
    return B


def launch(kernel):
    a = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    return kernel(a), a * 2
