"""Takes the exclusive or of floats."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = A[i] ^ 1
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = T.cast(T.cast(A[i], T.int32) ^ 1, T.float32)
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), (a.astype(np.int32) ^ 1).astype(np.float32)
