"""Decides with a value of the kernel where Python wants a number."""

import numpy as np

import tilewright as tw
from tilewright import T


def clipped(x):
    return min(x, 9)


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = clipped(A[i])
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = T.min(A[i], 9)
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), np.minimum(a, 9)
