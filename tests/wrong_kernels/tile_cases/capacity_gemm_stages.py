"""More stages of a pipeline than a block has shared memory for."""

import numpy as np

import tilewright as tw
from tilewright import T
from tilewright.runtime.tile.options import tile_running


@tw.jit
def wrong(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=128) as (bx, by):
        A_shared = T.alloc_shared((128, 64), "float16")
        B_shared = T.alloc_shared((64, 128), "float16")
        C_local = T.alloc_fragment((128, 128), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, 64), num_stages=8):
            T.copy(A[by * 128, k * 64], A_shared)
            T.copy(B[k * 64, bx * 128], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 128, bx * 128])
    return C


@tw.jit
def fixed(A, B):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float16")
    B: T.Tensor((K, N), "float16")
    C = T.empty((M, N), "float32")
    with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=128) as (bx, by):
        A_shared = T.alloc_shared((128, 64), "float16")
        B_shared = T.alloc_shared((64, 128), "float16")
        C_local = T.alloc_fragment((128, 128), "float32")
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, 64), num_stages=4):
            T.copy(A[by * 128, k * 64], A_shared)
            T.copy(B[k * 64, bx * 128], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * 128, bx * 128])
    return C


def launch(kernel):
    a = np.ones((128, 512), np.float16)
    b = np.ones((512, 128), np.float16)
    with tile_running(check_capacity=True):
        return kernel(a, b), np.full((128, 128), 512, np.float32)
