"""Reads what cp.async copies without waiting for it."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "float32")
        T.async_copy(A, S)
        T.ptx_commit_group()
        for i in T.Parallel(64):
            B[i] = S[i] * 2
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "float32")
        T.async_copy(A, S)
        T.ptx_commit_group()
        T.ptx_wait_group(0)
        for i in T.Parallel(64):
            B[i] = S[i] * 2
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
