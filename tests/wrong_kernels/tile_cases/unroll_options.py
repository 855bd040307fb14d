"""Unrolls explicitly, and by a factor."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for k in T.unroll(2, explicit=True, unroll_factor=2):
            for i in T.Parallel(32):
                B[k * 32 + i] = A[k * 32 + i] * 2
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for k in T.unroll(2, explicit=True):
            for i in T.Parallel(32):
                B[k * 32 + i] = A[k * 32 + i] * 2
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
