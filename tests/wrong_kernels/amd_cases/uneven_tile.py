"""Copies tiles of 136 elements, which 128 threads cannot share evenly."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"


@tw.jit
def wrong(A):
    A: T.Tensor((2176,), "float32")
    B = T.empty((2176,), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((136,), "float32")
        for k in T.Pipelined(16, num_stages=2):
            T.copy(A[k * 136], A_shared)
            for i in T.Parallel(136):
                B[k * 136 + i] = A_shared[135 - i] * 0 + A_shared[i] + 1
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((2176,), "float32")
    B = T.empty((2176,), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((128,), "float32")
        for k in T.Pipelined(17, num_stages=2):
            T.copy(A[k * 128], A_shared)
            for i in T.Parallel(128):
                B[k * 128 + i] = A_shared[127 - i] * 0 + A_shared[i] + 1
    return B


def arguments():
    return (np.arange(2176, dtype=np.float32),)


def expected(a):
    return a + 1
