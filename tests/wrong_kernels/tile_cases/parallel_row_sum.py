"""Adds up the columns of a row over iterations."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X):
    X: T.Tensor((8, 32), "float32")
    S = T.empty((8,), "float32")
    with T.Kernel(1, threads=64):
        total = T.alloc_shared((8,), "float32")
        T.clear(total)
        for i, j in T.Parallel(8, 32):
            total[i] += X[i, j]
        T.copy(total, S)
    return S


@tw.jit
def fixed(X):
    X: T.Tensor((8, 32), "float32")
    S = T.empty((8,), "float32")
    with T.Kernel(1, threads=64):
        total = T.alloc_shared((8,), "float32")
        T.clear(total)
        for j in T.serial(32):
            for i in T.Parallel(8):
                total[i] += X[i, j]
        T.copy(total, S)
    return S


def launch(kernel):
    x = np.ones((8, 32), np.float32)
    return kernel(x), x.sum(axis=1)
