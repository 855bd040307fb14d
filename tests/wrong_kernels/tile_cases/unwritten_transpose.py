"""Writes the tiles of a transpose where they came from."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit(out_idx=[1])
def wrong(rows, columns):
    @T.prim_func
    def transpose(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((columns, rows), "float32")):
        with T.Kernel(T.ceildiv(columns, 16), T.ceildiv(rows, 16), threads=64) as (bx, by):
            tile = T.alloc_shared((16, 16), "float32")
            turned = T.alloc_shared((16, 16), "float32")
            T.copy(X[by * 16, bx * 16], tile)
            T.transpose(tile, turned)
            T.copy(turned, Y[by * 16, bx * 16])

    return transpose


@tw.jit(out_idx=[1])
def fixed(rows, columns):
    @T.prim_func
    def transpose(X: T.Tensor((rows, columns), "float32"), Y: T.Tensor((columns, rows), "float32")):
        with T.Kernel(T.ceildiv(columns, 16), T.ceildiv(rows, 16), threads=64) as (bx, by):
            tile = T.alloc_shared((16, 16), "float32")
            turned = T.alloc_shared((16, 16), "float32")
            T.copy(X[by * 16, bx * 16], tile)
            T.transpose(tile, turned)
            T.copy(turned, Y[bx * 16, by * 16])

    return transpose


def launch(kernel):
    x = np.arange(16 * 40, dtype=np.float32).reshape(16, 40)
    return kernel(16, 40)(x), x.T
