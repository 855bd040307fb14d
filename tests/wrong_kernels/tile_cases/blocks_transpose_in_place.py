"""Transposes a matrix in place, tile by tile."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, Y):
    N = T.const("N")
    X: T.Tensor((N, N), "float32")
    Y: T.Tensor((N, N), "float32")
    with T.Kernel(T.ceildiv(N, 16), T.ceildiv(N, 16), threads=64) as (bx, by):
        tile = T.alloc_shared((16, 16), "float32")
        turned = T.alloc_shared((16, 16), "float32")
        T.copy(X[by * 16, bx * 16], tile)
        T.transpose(tile, turned)
        T.copy(turned, X[bx * 16, by * 16])


@tw.jit
def fixed(X, Y):
    N = T.const("N")
    X: T.Tensor((N, N), "float32")
    Y: T.Tensor((N, N), "float32")
    with T.Kernel(T.ceildiv(N, 16), T.ceildiv(N, 16), threads=64) as (bx, by):
        tile = T.alloc_shared((16, 16), "float32")
        turned = T.alloc_shared((16, 16), "float32")
        T.copy(X[by * 16, bx * 16], tile)
        T.transpose(tile, turned)
        T.copy(turned, Y[bx * 16, by * 16])


def launch(kernel):
    x = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    y = np.zeros_like(x)
    expected = x.T.copy()
    kernel(x, y)
    return y, expected
