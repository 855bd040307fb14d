"""A producer waits for a barrier at which nobody arrives first."""

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
        bars = T.alloc_barrier([128, 128])
        with T.ws(1):
            T.mbarrier_wait_parity(bars[1], 0)
            T.copy(A, S)
            T.mbarrier_arrive(bars[0])
        with T.ws(0):
            T.mbarrier_wait_parity(bars[0], 0)
            for i in T.Parallel(64):
                B[i] = S[i] * 2
            T.mbarrier_arrive(bars[1])
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=256):
        S = T.alloc_shared((64,), "float32")
        bars = T.alloc_barrier([128, 128])
        with T.ws(1):
            T.mbarrier_wait_parity(bars[1], 1)
            T.copy(A, S)
            T.mbarrier_arrive(bars[0])
        with T.ws(0):
            T.mbarrier_wait_parity(bars[0], 0)
            for i in T.Parallel(64):
                B[i] = S[i] * 2
            T.mbarrier_arrive(bars[1])
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 2
