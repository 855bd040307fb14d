"""Iterations of a parallel loop read elements of shared memory that their neighbours write."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((128,), "float32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((128,), "float32")
        T.copy(A, S)
        for i in T.Parallel(127):
            S[i] = S[i + 1]
        T.copy(S, B)
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((128,), "float32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((128,), "float32")
        F = T.alloc_fragment((127,), "float32")
        T.copy(A, S)
        for i in T.Parallel(127):
            F[i] = S[i + 1]
        for i in T.Parallel(127):
            S[i] = F[i]
        T.copy(S, B)
    return B


def arguments():
    return (np.arange(128, dtype=np.float32),)


def expected(a):
    return np.concatenate([a[1:], a[-1:]])
