"""Runs a parallel loop over a size that only the run knows."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    n = T.dynamic("n")
    A: T.Tensor((n,), "float32")
    B = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
        for i in T.Parallel(n):
            B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


@tw.jit
def fixed(A):
    n = T.dynamic("n")
    A: T.Tensor((n,), "float32")
    B = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
        for i in T.Parallel(128):
            if bx * 128 + i < n:
                B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


def arguments():
    return (np.arange(300, dtype=np.float32),)


def expected(a):
    return a + 1
