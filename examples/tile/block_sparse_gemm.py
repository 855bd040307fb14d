"""A @ B where a mask tells which tiles of the product's inputs count; the others are not read.

The branch stands inside of the pipelined loop: neither the copies nor the product of a masked step
take place.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def block_sparse_gemm(
    A, B, mask, block_M=128, block_N=128, block_K=32, num_stages=2, threads=128, dtype="float16"
):
    M, N, K = T.const("M, N, K")
    grid = T.ceildiv(M, block_M), T.ceildiv(N, block_N), T.ceildiv(K, block_K)
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    mask: T.Tensor(grid, T.bool)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_shared = T.alloc_shared((block_M, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            if mask[by, bx, k]:
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C_shared)
        T.copy(C_shared, C[by * block_M, bx * block_N])
    return C


def reference(a, b, mask, block_M, block_N, block_K):
    """Dense products of the steps that the mask has, in float64."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    c = np.zeros((a.shape[0], b.shape[1]))
    for i, j, k in np.argwhere(mask):
        rows = slice(i * block_M, (i + 1) * block_M)
        columns = slice(j * block_N, (j + 1) * block_N)
        depth = slice(k * block_K, (k + 1) * block_K)
        c[rows, columns] += a[rows, depth] @ b[depth, columns]
    return c


def example(rng, num_stages=2):
    """The result and what NumPy says in float64; half of the steps are masked."""
    blocks = block_M, block_N, block_K = 128, 128, 32
    a = rng.standard_normal((200, 160)).astype(np.float16)
    b = rng.standard_normal((160, 136)).astype(np.float16)
    mask = rng.random((-(-200 // block_M), -(-136 // block_N), -(-160 // block_K))) < 0.5
    return block_sparse_gemm(a, b, mask, *blocks, num_stages=num_stages), reference(
        a, b, mask, *blocks
    )


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
