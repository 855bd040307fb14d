"""One tile that is larger than the shared memory of a block."""

import numpy as np

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.options import tile_running


@tw.jit
def wrong(X):
    M = T.const("M")
    X: T.Tensor((M, 512), "float32")
    Y = T.empty((M, 512), "float32")
    with T.Kernel(T.ceildiv(M, 128), threads=128) as bx:
        tile = T.alloc_shared((128, 512), "float32")
        T.copy(X[bx * 128, 0], tile)
        for i, j in T.Parallel(128, 512):
            tile[i, j] = tile[i, j] * 2
        T.copy(tile, Y[bx * 128, 0])
    return Y


@tw.jit
def fixed(X):
    M = T.const("M")
    X: T.Tensor((M, 512), "float32")
    Y = T.empty((M, 512), "float32")
    with T.Kernel(T.ceildiv(M, 64), threads=128) as bx:
        tile = T.alloc_shared((64, 512), "float32")
        T.copy(X[bx * 64, 0], tile)
        for i, j in T.Parallel(64, 512):
            tile[i, j] = tile[i, j] * 2
        T.copy(tile, Y[bx * 64, 0])
    return Y


def launch(kernel):
    x = np.ones((128, 512), np.float32)
    with tile_running(check_capacity=True):
        return kernel(x), x * 2
