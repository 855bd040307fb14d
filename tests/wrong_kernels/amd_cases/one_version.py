"""Tiles of 48 KiB, of which there cannot be two."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx942"


@tw.jit
def wrong(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 128), threads=256) as (bx, by):
        A_shared = T.alloc_shared((128, 128), "float16")
        B_shared = T.alloc_shared((128, 64), "float16")
        C_local = T.alloc_fragment((128, 64), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, 128), num_stages=2):
            T.copy(A[by * 128, k * 128], A_shared)
            T.copy(B[k * 128, bx * 64], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 128, bx * 64])
    return C


@tw.jit
def fixed(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 64), threads=256) as (bx, by):
        A_shared = T.alloc_shared((64, 128), "float16")
        B_shared = T.alloc_shared((128, 64), "float16")
        C_local = T.alloc_fragment((64, 64), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, 128), num_stages=2):
            T.copy(A[by * 64, k * 128], A_shared)
            T.copy(B[k * 128, bx * 64], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 64, bx * 64])
    return C


def arguments():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (128, 256)), rng.integers(-2, 3, (256, 128))
    return a.astype(np.float16), b.astype(np.float16)


def expected(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)
