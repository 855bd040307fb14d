"""Adds up in a variable that a loop assigns."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        total = A[0] * 0
        for k in T.serial(64):
            total = total + A[k]
        for i in T.Parallel(64):
            B[i] = total
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        total = T.alloc_var("float32", init=0)
        for k in T.serial(64):
            total = total + A[k]
        for i in T.Parallel(64):
            B[i] = total
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), np.full(64, a.sum())
