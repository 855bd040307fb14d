"""Two statements write one element in different iterations."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((64, 2), "float32")
    B = T.empty((65,), "float32")
    with T.Kernel(1, threads=64):
        tile = T.alloc_shared((65,), "float32")
        for i in T.Parallel(64):
            tile[i] = A[i, 0]
            tile[i + 1] = A[i, 1]
        T.copy(tile, B)
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((64, 2), "float32")
    B = T.empty((65,), "float32")
    with T.Kernel(1, threads=64):
        tile = T.alloc_shared((65,), "float32")
        for i in T.Parallel(64):
            tile[i] = A[i, 0]
        for i in T.Parallel(64):
            tile[i + 1] = A[i, 1]
        T.copy(tile, B)
    return B


def launch(kernel):
    a = np.arange(128, dtype=np.float32).reshape(64, 2)
    return kernel(a), np.concatenate([a[:1, 0], a[:, 1]])
