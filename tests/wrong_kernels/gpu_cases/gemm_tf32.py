"""Multiplies float32, of whose mantissas tensor cores read 10 bits."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "cuda:sm_80"


@tw.jit
def wrong(A, B):
    A: T.Tensor((64, 32), "float32")
    B: T.Tensor((32, 64), "float32")
    C = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 32), "float32")
        B_shared = T.alloc_shared((32, 64), "float32")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.copy(A[0, 0], A_shared)
        T.copy(B[0, 0], B_shared)
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C[0, 0])
    return C


@tw.jit
def fixed(A, B):
    A: T.Tensor((64, 32), "float32")
    B: T.Tensor((32, 64), "float32")
    C = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 32), "float32")
        B_shared = T.alloc_shared((32, 64), "float32")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.copy(A[0, 0], A_shared)
        T.copy(B[0, 0], B_shared)
        T.clear(C_local)
        for i, j in T.Parallel(64, 64):
            for k in T.serial(32):
                C_local[i, j] += A_shared[i, k] * B_shared[k, j]
        T.copy(C_local, C[0, 0])
    return C


def arguments():
    # Numbers of 12 bits: more than tf32 has, and exact in sums of float32.
    rng = np.random.default_rng(0)
    a, b = rng.integers(2048, 4096, (64, 32)), rng.integers(-2, 3, (32, 64))
    return a.astype(np.float32), b.astype(np.float32)


def expected(a, b):
    return a @ b
