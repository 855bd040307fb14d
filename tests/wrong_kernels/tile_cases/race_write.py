"""All iterations add to one element."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        F = T.alloc_fragment((64,), "float32")
        S = T.alloc_fragment((1,), "float32")
        T.copy(A, F)
        T.clear(S)
        for i in T.Parallel(64):
            S[0] += F[i]
        for i in T.Parallel(64):
            B[i] = S[0]
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        F = T.alloc_fragment((64,), "float32")
        S = T.alloc_fragment((1,), "float32")
        T.copy(A, F)
        T.clear(S)
        T.reduce_sum(F, S)
        for i in T.Parallel(64):
            B[i] = S[0]
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), np.full(64, a.sum())
