"""Asks for 100 registers per thread."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        T.set_max_nreg(100, 0)
        F = T.alloc_fragment((64,), "float32")
        T.copy(A, F)
        for i in T.Parallel(64):
            F[i] = F[i] * 2
        T.copy(F, B)
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        T.set_max_nreg(104, 0)
        F = T.alloc_fragment((64,), "float32")
        T.copy(A, F)
        for i in T.Parallel(64):
            F[i] = F[i] * 2
        T.copy(F, B)
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
