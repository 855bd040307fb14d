"""Returns two tensors and writes one."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y = T.empty((N,), "float32")
    Z = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            Y[bx * 64 + i] = X[bx * 64 + i] * 2
    return Y, Z


@tw.jit
def fixed(X):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Y = T.empty((N,), "float32")
    Z = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        for i in T.Parallel(64):
            Y[bx * 64 + i] = X[bx * 64 + i] * 2
            Z[bx * 64 + i] = X[bx * 64 + i] * 3
    return Y, Z


def launch(kernel):
    x = np.arange(64, dtype=np.float32)
    return kernel(x)[1], x * 3
