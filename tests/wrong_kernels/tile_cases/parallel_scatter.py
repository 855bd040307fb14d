"""Scatters to places of which one is named twice."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, Places, Y):
    n = T.dynamic("n")
    X: T.Tensor((n,), "float32")
    Places: T.Tensor((n,), "int32")
    Y: T.Tensor((n,), "float32")
    with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
        for i in T.Parallel(64):
            if bx * 64 + i < n:
                Y[Places[bx * 64 + i]] = X[bx * 64 + i]


@tw.jit
def fixed(X, Places, Y):
    n = T.dynamic("n")
    X: T.Tensor((n,), "float32")
    Places: T.Tensor((n,), "int32")
    Y: T.Tensor((n,), "float32")
    with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
        for i in T.Parallel(64):
            if bx * 64 + i < n:
                T.atomic_max(Y[Places[bx * 64 + i]], X[bx * 64 + i])


def launch(kernel):
    x = np.arange(50, dtype=np.float32)
    places = np.arange(50, dtype=np.int32)
    places[7] = 8
    y = np.zeros(50, np.float32)
    kernel(x, places, y)
    expected = np.zeros(50, np.float32)
    np.maximum.at(expected, places, x)
    return y, expected
