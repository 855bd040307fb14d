"""A block reads what its neighbour wrote, with no barrier of the grid."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(X, Halo, Y):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Halo: T.Tensor((N // 32,), "float32")
    Y: T.Tensor((N // 32,), "float32")
    with T.Kernel(N // 32, threads=32) as bx:
        Halo[bx] = X[bx * 32]
        Y[bx] = Halo[(bx + 1) % (N // 32)]


@tw.jit
def fixed(X, Halo, Y):
    N = T.const("N")
    X: T.Tensor((N,), "float32")
    Halo: T.Tensor((N // 32,), "float32")
    Y: T.Tensor((N // 32,), "float32")
    with T.Kernel(N // 32, threads=32) as bx:
        Halo[bx] = X[bx * 32]
        T.sync_grid()
        Y[bx] = Halo[(bx + 1) % (N // 32)]


def launch(kernel):
    x = np.arange(96, dtype=np.float32)
    y = np.zeros(3, np.float32)
    kernel(x, np.zeros(3, np.float32), y)
    return y, np.roll(x[::32], -1)
