"""C = max(A @ B, 0): the pipelined loop over K is the whole schedule the author writes."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def matmul_relu(A, B, block_M=64, block_N=64, block_K=32, num_stages=3, dtype="float16"):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.use_swizzle(panel_size=4)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        for i, j in T.Parallel(block_M, block_N):
            C_local[i, j] = T.max(C_local[i, j], 0)
        T.copy(C_local, C[by * block_M, bx * block_N])
    return C


def example(rng, num_stages=3):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((150, 200)).astype(np.float16)
    b = rng.standard_normal((200, 130)).astype(np.float16)
    expected = np.maximum(a.astype(np.float64) @ b.astype(np.float64), 0)
    return matmul_relu(a, b, num_stages=num_stages), expected


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
