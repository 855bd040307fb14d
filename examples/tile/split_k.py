"""A product with few tiles and a long K: blocks share a tile of C and add to it atomically."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def matmul_split_k(
    A, B, C, split_k=4, block_M=32, block_N=32, block_K=16, num_stages=2, dtype="float16"
):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C: T.Tensor((M, N), T.float32)
    part = T.ceildiv(K, split_k)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), split_k, threads=128) as (
        bx,
        by,
        bz,
    ):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        C_shared = T.alloc_shared((block_M, block_N), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(part, block_K), num_stages=num_stages):
            T.copy(A[by * block_M, bz * part + k * block_K], A_shared)
            T.copy(B[bz * part + k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C_shared)
        T.atomic_add(C[by * block_M, bx * block_N], C_shared)


def example(rng, num_stages=2):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((64, 256)).astype(np.float16)
    b = rng.standard_normal((256, 96)).astype(np.float16)
    c = np.zeros((64, 96), np.float32)
    matmul_split_k(a, b, c, num_stages=num_stages)
    return c, a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
