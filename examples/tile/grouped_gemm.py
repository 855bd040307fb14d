"""One launch for many products: rows of A come in groups, and every group has its own B.

That is what the experts of a mixture do with the tokens they got. A block finds the group of its
rows by itself: `first_tile` says at which tile each group begins.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def grouped_gemm(
    A,
    B,
    first_row,
    first_tile,
    tiles,
    block_M=64,
    block_N=128,
    block_K=64,
    num_stages=2,
    threads=128,
    dtype="float16",
):
    """Row `r` of group `g` is `A[first_row[g] + r]`; group `g` ends where the next one begins."""
    M, N, K, groups = T.const("M, N, K, groups")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((groups, K, N), dtype)
    first_row: T.Tensor((groups + 1,), T.int32)
    first_tile: T.Tensor((groups + 1,), T.int32)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), tiles, threads=threads) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        group = T.alloc_var(T.int32, 0)
        for g in T.serial(groups):
            if by >= first_tile[g]:
                group = g  # empty groups begin where the next one does, and lose to it
        row = first_row[group] + (by - first_tile[group]) * block_M
        rows = T.min(block_M, first_row[group + 1] - row)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[row : row + block_M, k * block_K : (k + 1) * block_K], A_shared)
            T.copy(B[group, k * block_K, bx * block_N], B_shared)
            T.gemm(A_shared, B_shared, C_local)
        for i, j in T.Parallel(block_M, block_N):
            if i < rows:  # the rows behind belong to the next group
                C[row + i, bx * block_N + j] = C_local[i, j]
    return C


def starts(sizes):
    """Where each group begins, and after them where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)


def example(rng, num_stages=2):
    """Groups of very different sizes, one of them empty, and what NumPy says in float64."""
    sizes, block_M = np.array([70, 1, 0, 64]), 64
    first_row, first_tile = starts(sizes), starts(-(-sizes // block_M))
    a = rng.standard_normal((sizes.sum(), 96)).astype(np.float16)
    b = rng.standard_normal((len(sizes), 96, 136)).astype(np.float16)
    result = grouped_gemm(
        a,
        b,
        first_row,
        first_tile,
        tiles=int(first_tile[-1]),
        block_M=block_M,
        num_stages=num_stages,
    )
    exact_a, exact_b = a.astype(np.float64), b.astype(np.float64)
    pieces = [exact_a[first_row[g] : first_row[g + 1]] @ exact_b[g] for g in range(len(sizes))]
    return result, np.concatenate(pieces)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
