"""Has a statement behind break."""

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
        T.clear(S)
        for k in T.serial(64):
            if k == 2:
                break
                T.clear(S)
            S[k] = A[k]
        T.copy(S, B)
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "float32")
        T.clear(S)
        for k in T.serial(64):
            if k == 2:
                T.clear(S)
                break
            S[k] = A[k]
        T.copy(S, B)
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a * 0
