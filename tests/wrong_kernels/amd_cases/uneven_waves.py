"""Launches one wave and a half."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"


@tw.jit
def wrong(A):
    A: T.Tensor((192,), "float32")
    B = T.empty((192,), "float32")
    with T.Kernel(1, threads=96):
        for i in T.Parallel(192):
            B[i] = A[i] + 1
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((192,), "float32")
    B = T.empty((192,), "float32")
    with T.Kernel(1, threads=128):
        for i in T.Parallel(192):
            B[i] = A[i] + 1
    return B


def arguments():
    return (np.arange(192, dtype=np.float32),)


def expected(a):
    return a + 1
