"""Launches clusters of two blocks."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx1100"


@tw.jit
def wrong(A):
    A: T.Tensor((512,), "float32")
    B = T.empty((512,), "float32")
    with T.Kernel(4, threads=128, cluster_dims=(2, 1, 1)) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((512,), "float32")
    B = T.empty((512,), "float32")
    with T.Kernel(4, threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = A[bx * 128 + i] + 1
    return B


def arguments():
    return (np.arange(512, dtype=np.float32),)


def expected(a):
    return a + 1
