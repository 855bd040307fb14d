"""Two tiles of 128 KiB each; a block has 160 KiB."""

import numpy as np

import tilewright as tw
from tilewright import T

TARGET = "hip:gfx950"


@tw.jit
def wrong(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=256) as (bx, by):
        A_shared = T.alloc_shared((128, 512), "float16")
        B_shared = T.alloc_shared((512, 128), "float16")
        C_local = T.alloc_fragment((128, 128), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, 512), num_stages=1):
            T.copy(A[by * 128, k * 512], A_shared)
            T.copy(B[k * 512, bx * 128], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 128, bx * 128])
    return C


@tw.jit
def fixed(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=256) as (bx, by):
        A_shared = T.alloc_shared((128, 256), "float16")
        B_shared = T.alloc_shared((256, 128), "float16")
        C_local = T.alloc_fragment((128, 128), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, 256), num_stages=1):
            T.copy(A[by * 128, k * 256], A_shared)
            T.copy(B[k * 256, bx * 128], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 128, bx * 128])
    return C


def arguments():
    rng = np.random.default_rng(0)
    a, b = rng.integers(-2, 3, (128, 256)), rng.integers(-2, 3, (256, 128))
    return a.astype(np.float16), b.astype(np.float16)


def expected(a, b):
    return a.astype(np.float32) @ b.astype(np.float32)
