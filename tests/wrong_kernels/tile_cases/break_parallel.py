"""Leaves a parallel loop with break."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            if i == 64:
                break
            B[i] = A[i] * 2
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.serial(64):
            if i == 64:
                break
            B[i] = A[i] * 2
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
