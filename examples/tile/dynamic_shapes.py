"""One compiled matrix product for every size: M, N and K stay symbols in the IR."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def matmul(A, B, block_M=32, block_N=32, block_K=16, num_stages=2, dtype="float16"):
    M, N, K = T.dynamic("m"), T.dynamic("n"), T.dynamic("k")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), T.float32)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        T.copy(C_local, C[by * block_M, bx * block_N])
    return C


def example(rng, num_stages=2):
    """Three sizes through one kernel, and what NumPy says in float64."""
    results, references = [], []
    for m, n, k in ((1, 1, 1), (33, 70, 17), (64, 32, 48)):
        a = rng.standard_normal((m, k)).astype(np.float16)
        b = rng.standard_normal((k, n)).astype(np.float16)
        results.append(matmul(a, b, num_stages=num_stages))
        references.append(a.astype(np.float64) @ b.astype(np.float64))
    return tuple(results), tuple(references)


if __name__ == "__main__":
    for result, expected in zip(*example(np.random.default_rng(0)), strict=True):
        print(f"largest error, {result.shape}:", np.abs(result - expected).max())
