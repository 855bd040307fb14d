"""C = A + B, tile by tile through shared memory and registers; sizes need not be multiples."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def add(A, B, block_M=32, block_N=64, dtype="float32", threads=128):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    B: T.Tensor((M, N), dtype)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_N), dtype)
        B_shared = T.alloc_shared((block_M, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), dtype)
        T.copy(A[by * block_M, bx * block_N], A_shared)
        T.copy(B[by * block_M, bx * block_N], B_shared)
        for i, j in T.Parallel(block_M, block_N):
            C_local[i, j] = A_shared[i, j] + B_shared[i, j]
        T.copy(C_local, C[by * block_M, bx * block_N])
    return C


def example(rng):
    """The result and what NumPy says in float64."""
    a, b = rng.standard_normal((2, 113, 201), dtype=np.float32)
    return add(a, b), a.astype(np.float64) + b


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
