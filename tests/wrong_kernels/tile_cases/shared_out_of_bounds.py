"""Reads one element behind a shared buffer."""

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
        for i in T.Parallel(64):
            B[i] = S[i + 1] * 2
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "float32")
        T.copy(A, S)
        for i in T.Parallel(64):
            B[i] = S[(i + 1) % 64] * 2
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), np.roll(a, -1) * 2
