"""Passes one array as input and as output."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def scale(X, Y):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y: T.Tensor((N,), "float32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            Y[bx * 64 + i] = X[bx * 64 + i] * 2


def wrong(x):
    scale(x, x)
    return x


def fixed(x):
    y = np.empty_like(x)
    scale(x, y)
    return y


def launch(run):
    x = np.arange(100, dtype=np.float32)
    return run(x.copy()), x * 2
