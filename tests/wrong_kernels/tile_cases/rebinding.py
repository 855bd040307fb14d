"""Gives a value of the kernel a new one under the same name."""

import warnings

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
            x = A[i] + 1
            x = x * 2
            B[i] = x
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            x = A[i] + 1
            y = x * 2
            B[i] = y
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return kernel(a), (a + 1) * 2
