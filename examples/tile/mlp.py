"""Y = max(X @ W1, 0) @ W2: two kernels in one function, the hidden layer between them.

`T.alloc_global` is memory of the call: the caller does not see H. On Tenstorrent the two launches
are one host program, and H stays in the L1 of the cores that computed it (`tt.shard`): with whole
rows of blocks on each core the second kernel reads nothing of it from DRAM, nor from another core.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def mlp(X, W1, W2, block_M=64, block_N=64, block_K=32, num_stages=2, dtype="float16"):
    M, K, F, N = T.const("M, K, F, N")
    X: T.Tensor((M, K), dtype)
    W1: T.Tensor((K, F), dtype)
    W2: T.Tensor((F, N), dtype)
    Y = T.empty((M, N), dtype)
    H = T.alloc_global((M, F), dtype)

    with T.Kernel(T.ceildiv(F, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        X_shared = T.alloc_shared((block_M, block_K), dtype)
        W1_shared = T.alloc_shared((block_K, block_N), dtype)
        H_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(H_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(X[by * block_M, k * block_K], X_shared)
            T.copy(W1[k * block_K, bx * block_N], W1_shared)
            T.gemm(X_shared, W1_shared, H_local)
        for i, j in T.Parallel(block_M, block_N):
            H_local[i, j] = T.max(H_local[i, j], 0)
        T.copy(H_local, H[by * block_M, bx * block_N])

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
        H_shared = T.alloc_shared((block_M, block_K), dtype)
        W2_shared = T.alloc_shared((block_K, block_N), dtype)
        Y_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(Y_local)
        for k in T.Pipelined(T.ceildiv(F, block_K), num_stages=num_stages):
            T.copy(H[by * block_M, k * block_K], H_shared)
            T.copy(W2[k * block_K, bx * block_N], W2_shared)
            T.gemm(H_shared, W2_shared, Y_local)
        T.copy(Y_local, Y[by * block_M, bx * block_N])
    return Y


def example(rng, num_stages=2):
    """The result and what NumPy says in float64."""
    x = rng.standard_normal((256, 96)).astype(np.float16)
    w1 = (rng.standard_normal((96, 128)) / 8).astype(np.float16)
    w2 = (rng.standard_normal((128, 70)) / 8).astype(np.float16)
    hidden = np.maximum(x.astype(np.float64) @ w1.astype(np.float64), 0)
    return mlp(x, w1, w2, num_stages=num_stages), hidden @ w2.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
