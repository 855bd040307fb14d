"""Iterations of a parallel loop meet in shared memory if the caller gives a small number."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A, n: T.int32):
    A: T.Tensor((128,), "float32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((128,), "float32")
        T.copy(A, S)
        for i in T.Parallel(64):
            S[i] = S[i + n]
        T.copy(S, B)
    return B


@tw.jit
def fixed(A, n: T.int32):
    A: T.Tensor((128,), "float32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((128,), "float32")
        F = T.alloc_fragment((64,), "float32")
        T.copy(A, S)
        for i in T.Parallel(64):
            F[i] = S[i + n]
        for i in T.Parallel(64):
            S[i] = F[i]
        T.copy(S, B)
    return B


def arguments():
    return np.arange(128, dtype=np.float32), np.int32(3)


def expected(a, n):
    return np.concatenate([a[n : n + 64], a[64:]])
