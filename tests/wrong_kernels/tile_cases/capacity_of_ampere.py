"""What fits into a block of sm_90 does not into one of sm_80."""

import numpy as np

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.options import tile_running


def scaled(n, rows):
    @T.prim_func
    def main(X: T.Tensor((n, 256), "float32"), Y: T.Tensor((n, 256), "float32")):
        with T.Kernel(T.ceildiv(n, rows), threads=128) as bx:
            tile = T.alloc_shared((rows, 256), "float32")
            T.copy(X[bx * rows, 0], tile)
            for i, j in T.Parallel(rows, 256):
                tile[i, j] = tile[i, j] + 1
            T.copy(tile, Y[bx * rows, 0])

    return main


wrong = tw.jit(out_idx=[1], target="cuda:sm_80")(lambda: scaled(176, 176))


fixed = tw.jit(out_idx=[1], target="cuda:sm_80")(lambda: scaled(176, 88))


def launch(kernel):
    x = np.ones((176, 256), np.float32)
    with tile_running(check_capacity=True):
        return kernel()(x), x + 1
