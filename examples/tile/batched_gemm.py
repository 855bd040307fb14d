"""C[b] = A[b] @ B: one GEMM for each matrix of a batch, with the batch as the grid's third axis.

All matrices of the batch share B. On Tenstorrent with `tt.multicast` one core reads a panel of B
for the cores that need it, and with `tt.residency` a core that has the same columns of several
matrices keeps it in L1.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def batched_gemm(A, B, block_M=64, block_N=64, block_K=32, num_stages=2, dtype="float16"):
    batch, M, N, K = T.const("batch, M, N, K")
    A: T.Tensor((batch, M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((batch, M, N), dtype)

    grid = T.ceildiv(N, block_N), T.ceildiv(M, block_M), batch
    with T.Kernel(*grid, threads=128) as (bx, by, bz):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[bz, by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[bz, by * block_M, bx * block_N])
    return C


def example(rng, num_stages=2):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((3, 100, 96)).astype(np.float16)
    b = rng.standard_normal((96, 130)).astype(np.float16)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return batched_gemm(a, b, num_stages=num_stages), expected


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
