"""Copies the second half of a shared buffer, and 16 elements more."""

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
        F = T.alloc_fragment((32,), "float32")
        T.copy(A, S)
        for k in T.serial(2):
            T.copy(S[k * 48 : k * 48 + 32], F)
            T.copy(F, B[k * 32])
    return B


@tw.jit
def fixed(A):
    N = T.const("N")
    A: T.Tensor((N,), "float32")
    B = T.empty((N,), "float32")
    with T.Kernel(1, threads=64):
        S = T.alloc_shared((64,), "float32")
        F = T.alloc_fragment((32,), "float32")
        T.copy(A, S)
        for k in T.serial(2):
            T.copy(S[k * 32 : k * 32 + 32], F)
            T.copy(F, B[k * 32])
    return B


def launch(kernel):
    a = np.arange(64, dtype=np.float32)
    return kernel(a), a
