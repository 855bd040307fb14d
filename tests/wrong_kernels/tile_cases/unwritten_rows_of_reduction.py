"""Keeps one sum of a tile of rows."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit(out_idx=[1])
def wrong(rows):
    @T.prim_func
    def sums(X: T.Tensor((rows, 32), "float32"), S: T.Tensor((rows,), "float32")):
        with T.Kernel(T.ceildiv(rows, 8), threads=32) as bx:
            tile = T.alloc_fragment((8, 32), "float32")
            total = T.alloc_fragment((8,), "float32")
            T.copy(X[bx * 8, 0], tile)
            T.reduce_sum(tile, total, dim=1)
            S[bx * 8] = total[0]

    return sums


@tw.jit(out_idx=[1])
def fixed(rows):
    @T.prim_func
    def sums(X: T.Tensor((rows, 32), "float32"), S: T.Tensor((rows,), "float32")):
        with T.Kernel(T.ceildiv(rows, 8), threads=32) as bx:
            tile = T.alloc_fragment((8, 32), "float32")
            total = T.alloc_fragment((8,), "float32")
            T.copy(X[bx * 8, 0], tile)
            T.reduce_sum(tile, total, dim=1)
            T.copy(total, S[bx * 8])

    return sums


def launch(kernel):
    x = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    return kernel(16)(x), x.sum(axis=1)
