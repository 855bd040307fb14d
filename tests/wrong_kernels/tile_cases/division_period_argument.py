"""Takes an index modulo an argument that is zero."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A, period: T.int32):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            B[bx * 64 + i] = A[(bx * 64 + i) % period]
    return B


@tw.jit
def fixed(A, period: T.int32):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            B[bx * 64 + i] = A[(bx * 64 + i) % T.max(period, 1)]
    return B


def launch(kernel):
    a = np.arange(128, dtype=np.float32)
    return kernel(a, 0), np.zeros(128, np.float32)
