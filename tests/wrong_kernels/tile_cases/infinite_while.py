"""Repeats for as long as a number that nobody changes is positive."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "float32")
        T.copy(A, S)
        n = 1
        while n > 0:
            for i in T.Parallel(64):
                S[i] = S[i] * 2
        T.copy(S, B)
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "float32")
        T.copy(A, S)
        n = T.alloc_var("int32", init=1)
        while n > 0:
            for i in T.Parallel(64):
                S[i] = S[i] * 2
            n = n - 1
        T.copy(S, B)
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
