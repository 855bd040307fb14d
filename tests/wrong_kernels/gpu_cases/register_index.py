"""Indexes an array of registers with a number that only the run knows."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A, P):
    A: T.Tensor((128, 8), "float32")
    P: T.Tensor((128,), "int32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        row = T.alloc_local((8,), "float32")
        for j in T.unroll(8):
            row[j] = A[tx, j]
        B[tx] = row[P[tx]]
    return B


@tw.jit
def fixed(A, P):
    A: T.Tensor((128, 8), "float32")
    P: T.Tensor((128,), "int32")
    B = T.empty((128,), "float32")
    with T.Kernel(1, threads=128):
        tx = T.get_thread_binding()
        row = T.alloc_shared((128, 8), "float32")
        for j in T.unroll(8):
            row[tx, j] = A[tx, j]
        B[tx] = row[tx, P[tx]]
    return B


def arguments():
    rng = np.random.default_rng(0)
    return rng.standard_normal((128, 8)).astype(np.float32), (np.arange(128) % 8).astype(np.int32)


def expected(a, p):
    return a[np.arange(128), p]
