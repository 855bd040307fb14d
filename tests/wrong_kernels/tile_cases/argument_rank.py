"""Passes a matrix for a vector."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def double(A, scale=2):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(N):
            B[i] = A[i] * scale
    return B


def wrong(a):
    return double(a)


def fixed(a):
    return double(a.reshape(-1))


def launch(run):
    a = np.ones((8, 8), np.float32)
    return run(a), np.full(64, 2.0)
