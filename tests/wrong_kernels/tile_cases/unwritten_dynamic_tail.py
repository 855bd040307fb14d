"""Full tiles only, of a size that the call decides."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X):
    n = T.dynamic("n")
    X: T.Tensor((n,), "float16")
    Y = T.empty((n,), "float16")
    with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
        if bx * 64 + 64 <= n:
            T.copy(X[bx * 64 : bx * 64 + 64], Y[bx * 64 : bx * 64 + 64])
    return Y


@tw.jit
def fixed(X):
    n = T.dynamic("n")
    X: T.Tensor((n,), "float16")
    Y = T.empty((n,), "float16")
    with T.Kernel(T.ceildiv(n, 64), threads=64) as bx:
        if bx * 64 < n:
            T.copy(X[bx * 64 : bx * 64 + 64], Y[bx * 64 : bx * 64 + 64])
    return Y


def launch(kernel):
    x = np.arange(130).astype(np.float16)
    return kernel(x), x
