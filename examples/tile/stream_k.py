"""Stream-K: every block gets the same number of steps, wherever tiles of C begin and end.

All steps of all tiles form one line, tile by tile, and each of `blocks` blocks takes an equal piece
of it. Only at the ends of its piece does a block share a tile with another one: there it adds to C
atomically, so C has to be zero at the start. Tiles that are its own alone are written.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def stream_k(
    A,
    B,
    C,
    blocks=132,
    block_M=128,
    block_N=128,
    block_K=32,
    num_stages=3,
    threads=256,
    dtype="float16",
):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K), dtype)
    C: T.Tensor((M, N), T.float32)
    steps = T.ceildiv(K, block_K)  # of one tile
    columns = T.ceildiv(N, block_N)
    total = T.ceildiv(M, block_M) * columns * steps

    with T.Kernel(blocks, threads=threads) as block:
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_N, block_K), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        begin = T.alloc_var(T.int32, block * total // blocks)
        last = (block + 1) * total // blocks
        while begin < last:
            tile = begin // steps
            first_k = begin % steps
            count = T.min(steps - first_k, last - begin)
            row = tile // columns * block_M
            column = tile % columns * block_N
            T.clear(C_local)
            for k in T.Pipelined(count, num_stages=num_stages):
                T.copy(A[row, (first_k + k) * block_K], A_shared)
                T.copy(B[column, (first_k + k) * block_K], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            if count == steps:
                T.copy(C_local, C[row, column])
            else:
                T.atomic_add(C[row, column], C_local)
            begin = begin + count


def example(rng, num_stages=3):
    """The result and what NumPy says in float64: four tiles of five steps for three blocks."""
    a = rng.standard_normal((200, 160)).astype(np.float16)
    b = rng.standard_normal((136, 160)).astype(np.float16)
    c = np.zeros((200, 136), np.float32)
    stream_k(a, b, c, blocks=3, num_stages=num_stages)
    return c, a.astype(np.float64) @ b.astype(np.float64).T


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
