"""Blocks along the columns write the maximum of the same rows."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, R):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), "float32")
    R: T.Tensor((M,), "float32")
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 8), threads=64) as (bx, by):
        tile = T.alloc_fragment((8, 32), "float32")
        top = T.alloc_fragment((8,), "float32")
        T.copy(X[by * 8, bx * 32], tile)
        T.reduce_max(tile, top, dim=1)
        T.copy(top, R[by * 8])


@tw.jit
def fixed(X, R):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), "float32")
    R: T.Tensor((M,), "float32")
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 8), threads=64) as (bx, by):
        tile = T.alloc_fragment((8, 32), "float32")
        top = T.alloc_fragment((8,), "float32")
        T.copy(X[by * 8, bx * 32], tile)
        T.reduce_max(tile, top, dim=1)
        T.atomic_max(R[by * 8], top)


def launch(kernel):
    x = np.arange(16 * 64, dtype=np.float32).reshape(16, 64)
    r = np.zeros(16, np.float32)
    kernel(x, r)
    return r, x.max(axis=1)
