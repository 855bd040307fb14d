"""Passes an argument too many."""

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
    return double(a, 2, a)


def fixed(a):
    return double(a, 2)


def launch(run):
    a = np.arange(64, dtype=np.float32)
    return run(a), a * 2
