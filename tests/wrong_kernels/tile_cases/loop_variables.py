"""Gives a loop over two extents one variable too many."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i, j, _ in T.Parallel(8, 8):
            B[i * 8 + j] = A[i * 8 + j] * 2
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i, j in T.Parallel(8, 8):
            B[i * 8 + j] = A[i * 8 + j] * 2
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
