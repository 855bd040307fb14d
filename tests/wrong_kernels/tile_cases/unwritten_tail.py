"""The grid rounds down: the last elements are nobody's."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(N // 64, threads=64) as bx:
        for i in T.Parallel(64):
            B[bx * 64 + i] = A[bx * 64 + i] + 1
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            B[bx * 64 + i] = A[bx * 64 + i] + 1
    return B


def launch(kernel):
    a = np.arange(250, dtype=np.float32)
    return kernel(a), a + 1
