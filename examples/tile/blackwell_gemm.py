"""C = A @ B on Blackwell: the accumulator is in tensor memory, and one thread issues the GEMMs.

`T.gemm` into a buffer of `T.alloc_tmem` is issued by one thread and waited for; an extra warp
fetches tiles ahead with TMA. It runs here with all checks, of values and of order, and compiles for
`cuda:sm_100a`. `T.tcgen05_gemm` issues without waiting (docs/tile-kernels.md#tensor-memory).
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def gemm(A, B, block_M=128, block_N=128, block_K=64, num_stages=3, dtype="float16"):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_tmem = T.alloc_tmem((block_M, block_N), T.float32)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_tmem, clear_accum=k == 0)
        T.copy(C_tmem, C_local)
        T.copy(C_local, C[by * block_M, bx * block_N])
    return C


def example(rng, **options):
    """The result and what NumPy says in float64; `options` are those of the kernel."""
    a = rng.standard_normal((130, 200)).astype(np.float16)
    b = rng.standard_normal((200, 264)).astype(np.float16)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return gemm(a, b, **options), expected


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
