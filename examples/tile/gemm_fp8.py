"""A @ B^T in fp8: a second accumulator keeps what the first would round away.

The tensor cores of Hopper add products of fp8 with some 14 bits of mantissa. Over a long K that
shows, so what they added up moves to a full float32 every `promote` elements of K.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def gemm_fp8(
    A,
    B,
    block_M=128,
    block_N=128,
    block_K=64,
    promote=128,
    num_stages=3,
    threads=256,
    dtype="float8_e4m3fn",
):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K), dtype)
    C = T.empty((M, N), T.float32)
    steps = T.ceildiv(K, block_K)
    every = promote // block_K if promote > block_K else 1

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_N, block_K), dtype)
        C_shared = T.alloc_shared((block_M, block_N), T.float32)
        part = T.alloc_fragment((block_M, block_N), T.float32)
        total = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(part)
        T.clear(total)
        for k in T.Pipelined(steps, num_stages=num_stages):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[bx * block_N, k * block_K], B_shared)
            T.gemm(A_shared, B_shared, part, transpose_B=True)
            if (k + 1) % every == 0:
                for i, j in T.Parallel(block_M, block_N):
                    total[i, j] += part[i, j]
                T.clear(part)
        if steps % every != 0:  # what the last turn of the loop left behind
            for i, j in T.Parallel(block_M, block_N):
                total[i, j] += part[i, j]
        T.copy(total, C_shared)
        T.copy(C_shared, C[by * block_M, bx * block_N])
    return C


def example(rng, num_stages=3):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((130, 304)).astype(ml_dtypes.float8_e4m3fn)
    b = rng.standard_normal((100, 304)).astype(ml_dtypes.float8_e4m3fn)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    return gemm_fp8(a, b, num_stages=num_stages), expected


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
