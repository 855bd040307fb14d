"""Asks for 2048 threads in a block."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((4096,), "float32")
    B = T.empty((4096,), "float32")
    with T.Kernel(1, threads=2048):
        for i in T.Parallel(4096):
            B[i] = A[i] + 1
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((4096,), "float32")
    B = T.empty((4096,), "float32")
    with T.Kernel(1, threads=1024):
        for i in T.Parallel(4096):
            B[i] = A[i] + 1
    return B


def arguments():
    return (np.arange(4096, dtype=np.float32),)


def expected(a):
    return a + 1
