"""Synchronises half of the threads."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"


@tw.jit
def wrong(A):
    A: T.Tensor((128,), "float32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((128,), "float32")
        T.copy(A, A_shared)
        T.sync_threads(3, 64)
        for i in T.Parallel(128):
            B[i] = A_shared[127 - i] + 1
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((128,), "float32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((128,), "float32")
        T.copy(A, A_shared)
        T.sync_threads()
        for i in T.Parallel(128):
            B[i] = A_shared[127 - i] + 1
    return B


def arguments():
    return (np.arange(128, dtype=np.float32),)


def expected(a):
    return a[::-1] + 1
