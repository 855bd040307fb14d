"""A consumer reads a buffer that a copy still fills."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((64,), "float32")
        full = T.alloc_barrier(128)
        with T.ws(1):
            T.tma_copy(A, S, barrier=full[0])
            T.mbarrier_arrive(full[0])
        with T.ws(0):
            for i in T.Parallel(64):
                B[i] = S[i] * 2
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((64,), "float32")
        full = T.alloc_barrier(128)
        with T.ws(1):
            T.tma_copy(A, S, barrier=full[0])
            T.mbarrier_arrive(full[0])
        with T.ws(0):
            T.mbarrier_wait_parity(full[0], 0)
            for i in T.Parallel(64):
                B[i] = S[i] * 2
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
