"""Keeps a tensor in the L2 cache."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"


@tw.jit
def wrong(A):
    A: T.Tensor((128,), "float32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        T.annotate_l2_hit_ratio({A: 0.8})
        for i in T.Parallel(128):
            B[i] = A[i] + 1
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((128,), "float32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        for i in T.Parallel(128):
            B[i] = A[i] + 1
    return B


def arguments():
    return (np.arange(128, dtype=np.float32),)


def expected(a):
    return a + 1
