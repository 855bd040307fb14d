"""Calls a function that only the CUDA compiler knows."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"


@tw.jit
def wrong(A):
    A: T.Tensor((256,), "float32")
    B = T.empty((256,), "float32")
    with T.Kernel(2, threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = T.call_extern("float32", "__expf", A[bx * 128 + i])
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((256,), "float32")
    B = T.empty((256,), "float32")
    with T.Kernel(2, threads=128) as bx:
        for i in T.Parallel(128):
            B[bx * 128 + i] = T.exp(A[bx * 128 + i])
    return B


def arguments():
    return (np.zeros(256, dtype=np.float32),)


def expected(a):
    return np.exp(a)
