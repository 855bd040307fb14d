"""Two statements of a parallel loop write one element of shared memory in different iterations."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((64, 64), "float32")
    B = T.empty((65,), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((65,), "float32")
        for i in T.Parallel(64):
            S[i] = A[i, 0]
            S[i + 1] = A[i, 1]
        T.copy(S, B)
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((64, 64), "float32")
    B = T.empty((65,), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((65,), "float32")
        for i in T.Parallel(64):
            S[i] = A[i, 0]
        for i in T.Parallel(64):
            S[i + 1] = A[i, 1]
        T.copy(S, B)
    return B


def arguments():
    return (np.arange(64 * 64, dtype=np.float32).reshape(64, 64),)


def expected(a):
    return np.concatenate([a[:1, 0], a[:, 1]])
