"""Multiplies float8 on a GPU whose tensor cores do not."""

import ml_dtypes
import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "cuda:sm_80"


@tw.jit
def wrong(A, B):
    A: T.Tensor((64, 32), "float8_e4m3fn")
    B: T.Tensor((32, 64), "float8_e4m3fn")
    C = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 32), "float8_e4m3fn")
        B_shared = T.alloc_shared((32, 64), "float8_e4m3fn")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.copy(A[0, 0], A_shared)
        T.copy(B[0, 0], B_shared)
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C[0, 0])
    return C


@tw.jit
def fixed(A, B):
    A: T.Tensor((64, 32), "float8_e4m3fn")
    B: T.Tensor((32, 64), "float8_e4m3fn")
    C = T.empty((64, 64), "float32")
    with T.Kernel(1, threads=128):
        A_shared = T.alloc_shared((64, 32), "float16")
        B_shared = T.alloc_shared((32, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.copy(A[0, 0], A_shared)
        T.copy(B[0, 0], B_shared)
        T.gemm(A_shared, B_shared, C_local, clear_accum=True)
        T.copy(C_local, C[0, 0])
    return C


def arguments():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (64, 32)), rng.integers(-2, 3, (32, 64))
    return a.astype(ml_dtypes.float8_e4m3fn), b.astype(ml_dtypes.float8_e4m3fn)


def expected(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)
