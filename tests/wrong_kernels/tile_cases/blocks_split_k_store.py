"""A product split along K whose parts are stored, not added."""

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def wrong(A, B, C, splits=2):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C: T.Tensor((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), splits, threads=128) as (bx, by, bz):
        A_shared = T.alloc_shared((32, 32), "float16")
        B_shared = T.alloc_shared((32, 32), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.clear(C_local)
        for k in T.Pipelined(K // 32 // splits, num_stages=2):
            T.copy(A[by * 32, (bz * (K // 32 // splits) + k) * 32], A_shared)
            T.copy(B[(bz * (K // 32 // splits) + k) * 32, bx * 32], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 32, bx * 32])


@tw.jit
def fixed(A, B, C, splits=2):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C: T.Tensor((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 32), T.ceildiv(M, 32), splits, threads=128) as (bx, by, bz):
        A_shared = T.alloc_shared((32, 32), "float16")
        B_shared = T.alloc_shared((32, 32), "float16")
        C_local = T.alloc_fragment((32, 32), "float32")
        T.clear(C_local)
        for k in T.Pipelined(K // 32 // splits, num_stages=2):
            T.copy(A[by * 32, (bz * (K // 32 // splits) + k) * 32], A_shared)
            T.copy(B[(bz * (K // 32 // splits) + k) * 32, bx * 32], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.atomic_add(C[by * 32, bx * 32], C_local)


def launch(kernel):
    c = np.zeros((32, 64), np.float32)
    kernel(np.ones((32, 128), np.float16), np.ones((128, 64), np.float16), c)
    return c, np.full((32, 64), 128, np.float32)
