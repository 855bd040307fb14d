"""Softmax of long rows in two sweeps: the sum is kept up to date while the maximum grows."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T

LOG2_E = 1.44269504


@tw.jit
def softmax(X, block_N=32, num_stages=2, dtype="float32"):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    Y = T.empty((M, N), dtype)

    with T.Kernel(M, threads=128) as row:
        x = T.alloc_fragment((block_N,), dtype)
        powers = T.alloc_fragment((block_N,), T.float32)
        largest = T.alloc_fragment((1,), T.float32)
        total = T.alloc_fragment((1,), T.float32)
        lse = T.alloc_fragment((1,), T.float32)
        T.fill(lse, -T.infinity(T.float32))
        for k in T.Pipelined(T.ceildiv(N, block_N), num_stages=num_stages):
            T.copy(X[row, k * block_N : (k + 1) * block_N], x)
            for j in T.Parallel(block_N):
                x[j] = T.if_then_else(k * block_N + j < N, x[j], -T.infinity(dtype))
            T.reduce_max(x, largest, dim=0, clear=True)
            for j in T.Parallel(block_N):
                powers[j] = T.exp2(x[j] * LOG2_E - largest[0] * LOG2_E)
            T.reduce_sum(powers, total, dim=0, clear=True)
            for i in T.Parallel(1):
                lse[i] = largest[i] * LOG2_E + T.log2(
                    T.exp2(lse[i] - largest[i] * LOG2_E) + total[i]
                )
        for k in T.Pipelined(T.ceildiv(N, block_N), num_stages=num_stages):
            T.copy(X[row, k * block_N : (k + 1) * block_N], x)
            for j in T.Parallel(block_N):
                powers[j] = T.exp2(x[j] * LOG2_E - lse[0])
            T.copy(powers, Y[row, k * block_N : (k + 1) * block_N])
    return Y


def example(rng, num_stages=2):
    """The result and what NumPy says in float64."""
    x = rng.standard_normal((17, 150), dtype=np.float32)
    numerator = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    expected = numerator / numerator.sum(axis=1, keepdims=True)
    return softmax(x, num_stages=num_stages), expected


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
