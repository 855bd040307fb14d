"""Passes two views of one array that are an element apart."""

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
    scale(x[:-1], x[1:])
    return x[1:]


def fixed(x):
    scale(x[:-1].copy(), x[1:])
    return x[1:]


def launch(run):
    x = np.arange(65, dtype=np.float32)
    return run(x.copy()), x[:-1] * 2
