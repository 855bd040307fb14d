"""Counts its blocks with a division that rounds down to none."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((100,), "float32")
    B = T.empty((100,), "float32")
    with T.Kernel(100 // 128, threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((100,), "float32")
    B = T.empty((100,), "float32")
    with T.Kernel(T.ceildiv(100, 128), threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


def arguments():
    return (np.arange(100, dtype=np.float32),)


def expected(a):
    return a + 1
