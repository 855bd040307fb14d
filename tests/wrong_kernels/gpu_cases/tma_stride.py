"""Has rows of 200 bytes, which the copy engine cannot walk: threads copy instead."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A, B):
    N = T.const("N")
    A: T.Tensor((64, N), "float16")
    B: T.Tensor((N, 64), "float16")
    C = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 64), "float16")
        B_shared = T.alloc_shared((64, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(N, 64), num_stages=2):
            T.copy(A[0, k * 64], A_shared)
            T.copy(B[k * 64, 0], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C)
    return C


@tw.jit
def fixed(A, B):
    N = T.const("N")
    A: T.Tensor((64, N), "float16")
    B: T.Tensor((N, 64), "float16")
    C = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 64), "float16")
        B_shared = T.alloc_shared((64, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(N, 64), num_stages=2):
            T.copy(A[0, k * 64], A_shared)
            T.copy(B[k * 64, 0], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C)
    return C


def arguments(kernel):
    # Rows of 200 bytes, and of 208 bytes: padded to a multiple of 16.
    size = 100 if kernel is wrong else 104
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (64, size)), rng.integers(-2, 3, (size, 64))
    return a.astype(np.float16), b.astype(np.float16)


def expected(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)
