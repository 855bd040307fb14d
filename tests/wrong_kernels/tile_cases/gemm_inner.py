"""Multiplies tiles whose inner extents are 64 and 32."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, M), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((32, 64), "float32")
        B_shared = T.alloc_shared((32, 64), "float32")
        C = T.alloc_fragment((32, 32), "float32")
        T.copy(A, A_shared)
        T.copy(A, B_shared)
        T.gemm(A_shared, B_shared, C, clear_accum=True)
        T.copy(C, B)
    return B


@tw.jit
def fixed(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    B = T.empty((M, M), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((32, 64), "float32")
        B_shared = T.alloc_shared((32, 64), "float32")
        C = T.alloc_fragment((32, 32), "float32")
        T.copy(A, A_shared)
        T.copy(A, B_shared)
        T.gemm(A_shared, B_shared, C, transpose_B=True, clear_accum=True)
        T.copy(C, B)
    return B


def launch(kernel):
    a = (np.arange(32 * 64) % 7).astype(np.float32).reshape(32, 64)
    return kernel(a), a @ a.T
