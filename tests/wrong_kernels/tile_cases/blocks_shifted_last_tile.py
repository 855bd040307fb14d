"""Shifts the last tile back so that it fits: two blocks write the same values."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X):
    n = T.dynamic("n")
    X: T.Tensor((n,), "float32")
    Y = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
        for i in T.Parallel(64):
            Y[T.min(bx * 64, n - 64) + i] = X[T.min(bx * 64, n - 64) + i] * 2
    return Y


@tw.jit
def fixed(X):
    n = T.dynamic("n")
    X: T.Tensor((n,), "float32")
    Y = T.empty((n,), "float32")
    with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
        for i in T.Parallel(64):
            Y[bx * 64 + i] = X[bx * 64 + i] * 2
    return Y


def launch(kernel):
    x = np.arange(150, dtype=np.float32)
    return kernel(x), x * 2
