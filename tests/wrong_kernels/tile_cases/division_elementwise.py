"""Divides by elements of a tensor, one of which is zero."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A, D):
    N = T.const("N")
    A: T.Tensor((N,), "int32")
    D: T.Tensor((N,), "int32")
    Q = T.empty((N,), "int32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            Q[bx * 64 + i] = A[bx * 64 + i] // D[bx * 64 + i]
    return Q


@tw.jit
def fixed(A, D):
    N = T.const("N")
    A: T.Tensor((N,), "int32")
    D: T.Tensor((N,), "int32")
    Q = T.empty((N,), "int32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            Q[bx * 64 + i] = A[bx * 64 + i] // T.max(D[bx * 64 + i], 1)
    return Q


def launch(kernel):
    a = np.arange(100, dtype=np.int32)
    d = np.full(100, 3, np.int32)
    d[70] = 0
    return kernel(a, d), a // np.maximum(d, 1)
