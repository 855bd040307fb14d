"""Copies a tile in an if that a warp and a half enter."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((64, 64), "float16")
    B = T.empty((64, 64), "float16")
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        A_shared = T.alloc_shared((64, 64), "float16")
        if tx < 48:
            T.copy(A, A_shared)
        T.copy(A_shared, B)
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((64, 64), "float16")
    B = T.empty((64, 64), "float16")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 64), "float16")
        T.copy(A, A_shared)
        T.copy(A_shared, B)
    return B


def arguments():
    return (np.arange(4096, dtype=np.float16).reshape(64, 64),)


def expected(a):
    return a
