"""Iterates over two buffers with zip."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for x, y in zip(A, B, strict=True):
            T.print(x + y)
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = A[i] * 2
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
