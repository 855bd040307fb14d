"""C = A @ B, tiled as an H200 likes it: with these defaults the speed is that of cuBLAS.

`docs/benchmarks.md` has the numbers. On Hopper an extra warp fetches tiles ahead with TMA, two warp
groups multiply (wgmma), and C leaves through shared memory; elsewhere the same lines become other
instructions, with `num_stages=3` on an A100, which has less shared memory, and with
`num_stages=2, block_N=128` on a GeForce, which has less again and spills registers otherwise.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def gemm(A, B, block_M=128, block_N=256, block_K=64, num_stages=4, panel=8, dtype="float16"):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=256) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_shared = T.alloc_shared((block_M, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.use_swizzle(panel_size=panel)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C_shared)
        T.copy(C_shared, C[by * block_M, bx * block_N])
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
