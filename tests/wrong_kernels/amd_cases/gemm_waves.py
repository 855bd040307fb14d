"""Sixteen waves for a tile with four accumulators."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"


@tw.jit
def wrong(A, B):
    A: T.Tensor((32, 32), "float16")
    B: T.Tensor((32, 32), "float16")
    C = T.empty((32, 32), "float32")
    with T.Kernel(1, threads=1024):
        A_shared = T.alloc_shared((32, 32), "float16")
        B_shared = T.alloc_shared((32, 32), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.copy(A[0, 0], A_shared)
        T.copy(B[0, 0], B_shared)
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C[0, 0])
    return C


@tw.jit
def fixed(A, B):
    A: T.Tensor((32, 32), "float16")
    B: T.Tensor((32, 32), "float16")
    C = T.empty((32, 32), "float32")
    with T.Kernel(1, threads=256):
        A_shared = T.alloc_shared((32, 32), "float16")
        B_shared = T.alloc_shared((32, 32), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.copy(A[0, 0], A_shared)
        T.copy(B[0, 0], B_shared)
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C[0, 0])
    return C


def arguments():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (32, 32)), rng.integers(-2, 3, (32, 32))
    return a.astype(np.float16), b.astype(np.float16)


def expected(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)
