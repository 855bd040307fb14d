"""Reads inside an if what other threads may write there."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    A: T.Tensor((64,), "float32")
    B = T.empty((64,), "float32")
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        staged = T.alloc_shared((64,), "float32")
        B[tx] = 0.0
        if A[tx] > 0:
            staged[tx] = A[tx]
            B[tx] = staged[63 - tx]
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((64,), "float32")
    B = T.empty((64,), "float32")
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        staged = T.alloc_shared((64,), "float32")
        B[tx] = 0.0
        if A[tx] > 0:
            staged[tx] = A[tx]
        if A[tx] > 0:
            B[tx] = staged[63 - tx]
    return B


def arguments():
    return (np.ones(64, np.float32) + np.arange(64, dtype=np.float32),)


def expected(a):
    return a[::-1]
