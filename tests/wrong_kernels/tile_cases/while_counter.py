"""Loops while a number that is known while tracing is less than 3."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        n = 0
        S = T.alloc_shared((64,), "float32")
        T.copy(A, S)
        while n < 2:
            for i in T.Parallel(64):
                S[i] = S[i] + A[i] / 2
            n += 1
        T.copy(S, B)
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        n = T.alloc_var("int32", init=0)
        S = T.alloc_shared((64,), "float32")
        T.copy(A, S)
        while n < 2:
            for i in T.Parallel(64):
                S[i] = S[i] + A[i] / 2
            n += 1
        T.copy(S, B)
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
