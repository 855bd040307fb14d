"""Tiles of 64 elements every 48."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, 48), threads=64) as bx:
        tile = T.alloc_shared((64,), "float32")
        T.copy(A[bx * 48], tile)
        T.copy(tile, B[bx * 48])
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(T.ceildiv(N, 64), threads=64) as bx:
        tile = T.alloc_shared((64,), "float32")
        T.copy(A[bx * 64], tile)
        T.copy(tile, B[bx * 64])
    return B


def launch(kernel):
    a = np.arange(200, dtype=np.float32)
    return kernel(a), a
