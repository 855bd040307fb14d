"""A softmax that ends a row too early."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), "float32")
    Y = T.empty((M, N), "float32")
    with T.Kernel(M, threads=32) as row:
        tile = T.alloc_fragment((1, N), "float32")
        top = T.alloc_fragment((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.copy(X[row, 0], tile)
        T.reduce_max(tile, top, dim=1)
        for i, j in T.Parallel(1, N):
            tile[i, j] = T.exp(tile[i, j] - top[i])
        T.reduce_sum(tile, total, dim=1)
        if row < M - 1:
            for i, j in T.Parallel(1, N):
                Y[row, j] = tile[i, j] / total[i]
    return Y


@tw.jit
def fixed(X):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), "float32")
    Y = T.empty((M, N), "float32")
    with T.Kernel(M, threads=32) as row:
        tile = T.alloc_fragment((1, N), "float32")
        top = T.alloc_fragment((1,), "float32")
        total = T.alloc_fragment((1,), "float32")
        T.copy(X[row, 0], tile)
        T.reduce_max(tile, top, dim=1)
        for i, j in T.Parallel(1, N):
            tile[i, j] = T.exp(tile[i, j] - top[i])
        T.reduce_sum(tile, total, dim=1)
        if row < M:
            for i, j in T.Parallel(1, N):
                Y[row, j] = tile[i, j] / total[i]
    return Y


def launch(kernel):
    x = np.zeros((5, 32), np.float32)
    return kernel(x), np.full((5, 32), 1 / 32, np.float32)
