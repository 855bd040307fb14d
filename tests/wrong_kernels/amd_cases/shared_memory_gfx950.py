"""Two tiles of 128 KiB each; a block has 160 KiB."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx950"


@tw.jit
def wrong(A, B):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float16")
    B: T.Tensor((M, N), "float16")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 512), T.ceildiv(M, 128), threads=256) as (bx, by):
        A_shared = T.alloc_shared((128, 512), "float16")
        B_shared = T.alloc_shared((128, 512), "float16")
        T.copy(A[by * 128, bx * 512], A_shared)
        T.copy(B[by * 128, bx * 512], B_shared)
        for i, j in T.Parallel(128, 512):
            C[by * 128 + i, bx * 512 + j] = A_shared[i, j] + B_shared[127 - i, j]
    return C


@tw.jit
def fixed(A, B):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float16")
    B: T.Tensor((M, N), "float16")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 64), T.ceildiv(M, 128), threads=256) as (bx, by):
        A_shared = T.alloc_shared((128, 64), "float16")
        B_shared = T.alloc_shared((128, 64), "float16")
        T.copy(A[by * 128, bx * 64], A_shared)
        T.copy(B[by * 128, bx * 64], B_shared)
        for i, j in T.Parallel(128, 64):
            C[by * 128 + i, bx * 64 + j] = A_shared[i, j] + B_shared[127 - i, j]
    return C


def arguments():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (128, 512)), rng.integers(-2, 3, (128, 512))
    return a.astype(np.float16), b.astype(np.float16)


def expected(a, b):
    return a + b[::-1]
