"""The k largest of every row with their columns: k rounds of maximum, then taken out."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def top_k(logits, k=3, block_M=16, dtype="float32"):
    M, N = T.const("M, N")
    logits: T.Tensor((M, N), dtype)
    values = T.empty((M, k), dtype)
    columns = T.empty((M, k), T.int32)

    with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
        x = T.alloc_fragment((block_M, N), dtype)
        largest = T.alloc_fragment((block_M,), dtype)
        where = T.alloc_fragment((block_M, N), T.int32)
        column = T.alloc_fragment((block_M,), T.int32)
        T.copy(logits[bx * block_M, 0], x)
        for turn in T.serial(k):
            T.fill(where, -1)
            T.reduce_max(x, largest, dim=1, clear=True)
            for i, j in T.Parallel(block_M, N):
                where[i, j] = T.if_then_else(largest[i] == x[i, j], j, where[i, j])
            T.reduce_max(where, column, dim=1, clear=True)
            for i, j in T.Parallel(block_M, N):
                x[i, j] = T.if_then_else(j == column[i], -T.infinity(dtype), x[i, j])
            for i in T.Parallel(block_M):
                values[bx * block_M + i, turn] = largest[i]
                columns[bx * block_M + i, turn] = column[i]
    return values, columns


def example(rng):
    """Values and columns, and what sorting says."""
    x = rng.permutation(50 * 40).reshape(50, 40).astype(np.float32)
    order = np.argsort(-x, axis=1)[:, :3]
    return top_k(x), (np.take_along_axis(x, order, axis=1), order)


if __name__ == "__main__":
    results, references = example(np.random.default_rng(0))
    print("same:", all(np.array_equal(*pair) for pair in zip(results, references, strict=True)))
