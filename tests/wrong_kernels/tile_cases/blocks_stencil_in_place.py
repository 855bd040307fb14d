"""Smooths a tensor in place: a block reads what its neighbour writes."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, Y):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y: T.Tensor((N,), "float32")
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        tile = T.alloc_shared((34,), "float32")
        T.copy(X[bx * 32 - 1], tile)
        for i in T.Parallel(32):
            X[bx * 32 + i] = tile[i] + tile[i + 1] + tile[i + 2]


@tw.jit
def fixed(X, Y):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y: T.Tensor((N,), "float32")
    with T.Kernel(T.ceildiv(N, 32), threads=32) as bx:
        tile = T.alloc_shared((34,), "float32")
        T.copy(X[bx * 32 - 1], tile)
        for i in T.Parallel(32):
            Y[bx * 32 + i] = tile[i] + tile[i + 1] + tile[i + 2]


def launch(kernel):
    x = np.ones(64, np.float32)
    expected = np.convolve(x, np.ones(3, np.float32), mode="same")
    y = np.zeros(64, np.float32)
    kernel(x, y)
    return y, expected
