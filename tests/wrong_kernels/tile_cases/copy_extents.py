"""Copies a tile of 32 x 64 into one of 32 x 32."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((32, 32), "float32")
        T.copy(A, S)
        T.copy(S, B)
    return B


@tw.jit
def fixed(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, N), "float32")
    with T.Kernel(1, threads=128):
        S = T.alloc_shared((32, 64), "float32")
        T.copy(A, S)
        T.copy(S, B)
    return B


def launch(kernel):
    a = np.arange(32 * 64, dtype=np.float32).reshape(32, 64)
    return kernel(a), a
