"""Two iterations write each element of a shared buffer."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((64,), "float32")
    B = T.empty((32,), "float32")
    with T.Kernel(1, threads=64):
        tile = T.alloc_shared((32,), "float32")
        for i in T.Parallel(64):
            tile[i // 2] = A[i]
        T.copy(tile, B)
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((64,), "float32")
    B = T.empty((32,), "float32")
    with T.Kernel(1, threads=64):
        tile = T.alloc_shared((32,), "float32")
        for i in T.Parallel(32):
            tile[i] = A[2 * i + 1]
        T.copy(tile, B)
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a[1::2]
