"""Loops inside an if over what other threads write there."""

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
        total = T.alloc_local((1,), "float32")
        total[0] = 0.0
        staged[tx] = 0.0
        if tx % 4 == 0:
            for k in T.serial(4):
                staged[tx] = A[tx] + k
                total[0] = total[0] + staged[60 - tx]
        B[tx] = total[0]
    return B


@tw.jit
def fixed(A):
    A: T.Tensor((64,), "float32")
    B = T.empty((64,), "float32")
    with T.Kernel(1, threads=64):
        tx = T.get_thread_binding()
        staged = T.alloc_shared((64,), "float32")
        total = T.alloc_local((1,), "float32")
        total[0] = 0.0
        staged[tx] = 0.0
        for k in T.serial(4):
            if tx % 4 == 0:
                staged[tx] = A[tx] + k
            if tx % 4 == 0:
                total[0] = total[0] + staged[60 - tx]
        B[tx] = total[0]
    return B


def arguments():
    return (np.arange(64, dtype=np.float32),)


def expected(a):
    b = np.zeros(64, np.float32)
    b[::4] = 4 * a[60::-4] + 6
    return b
