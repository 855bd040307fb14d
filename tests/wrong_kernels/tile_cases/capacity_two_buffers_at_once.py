"""Two tiles of which either fits, and both do not."""

import numpy as np

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.options import tile_running


@tw.jit(out_idx=[2])
def wrong(n):
    @T.prim_func
    def add(
        X: T.Tensor((n, 128), "float64"),
        Y: T.Tensor((n, 128), "float64"),
        Z: T.Tensor((n, 128), "float64"),
    ):
        with T.Kernel(T.ceildiv(n, 128), threads=128) as bx:
            x = T.alloc_shared((128, 128), "float64")
            y = T.alloc_shared((128, 128), "float64")
            T.copy(X[bx * 128, 0], x)
            T.copy(Y[bx * 128, 0], y)
            for i, j in T.Parallel(128, 128):
                x[i, j] = x[i, j] + y[i, j]
            T.copy(x, Z[bx * 128, 0])

    return add


@tw.jit(out_idx=[2])
def fixed(n):
    @T.prim_func
    def add(
        X: T.Tensor((n, 128), "float64"),
        Y: T.Tensor((n, 128), "float64"),
        Z: T.Tensor((n, 128), "float64"),
    ):
        with T.Kernel(T.ceildiv(n, 64), threads=128) as bx:
            x = T.alloc_shared((64, 128), "float64")
            y = T.alloc_shared((64, 128), "float64")
            T.copy(X[bx * 64, 0], x)
            T.copy(Y[bx * 64, 0], y)
            for i, j in T.Parallel(64, 128):
                x[i, j] = x[i, j] + y[i, j]
            T.copy(x, Z[bx * 64, 0])

    return add


def launch(kernel):
    x = np.ones((128, 128), np.float64)
    with tile_running(check_capacity=True):
        return kernel(128)(x, x * 2), x * 3
