"""y = A @ x: every number of A is used once, so all that counts is how A is read.

`gemv` says what each thread does: a warp walks along a row, 16 bytes a thread at a time, and adds
up its lanes at the end. `gemv_tiles` says it in tiles, with a reducer that all threads add to.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T

WARP = 32


@tw.jit
def gemv(A, x, rows=8, dtype="float16"):
    M, K = T.const("M, K")
    A: T.Tensor((M, K), dtype)
    x: T.Tensor((K,), dtype)
    y = T.empty((M,), T.float32)
    width = 128 // T.dtype(dtype).bits  # the widest load of a thread has 128 bits

    with T.Kernel(T.ceildiv(M, rows), threads=(WARP, rows)) as block:
        lane = T.get_thread_binding(0)
        row = block * rows + T.get_thread_binding(1)
        a_part = T.alloc_local((width,), dtype)
        x_part = T.alloc_local((width,), dtype)
        total = T.alloc_local((1,), T.float32)
        T.clear(total)
        for step in T.serial(T.ceildiv(K, WARP * width)):
            for i in T.vectorized(width):
                a_part[i] = A[row, (step * WARP + lane) * width + i]
                x_part[i] = x[(step * WARP + lane) * width + i]
            for i in T.serial(width):
                total[0] += a_part[i].astype(T.float32) * x_part[i].astype(T.float32)
        total[0] = T.warp_reduce_sum(total[0])
        if lane == 0:
            y[row] = total[0]
    return y


@tw.jit
def gemv_tiles(A, x, block_M=64, block_K=128, num_stages=2, dtype="float16"):
    M, K = T.const("M, K")
    A: T.Tensor((M, K), dtype)
    x: T.Tensor((K,), dtype)
    y = T.empty((M,), T.float32)

    with T.Kernel(T.ceildiv(M, block_M), threads=256) as block:
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        x_shared = T.alloc_shared((block_K,), dtype)
        total = T.alloc_reducer((block_M,), T.float32, op="sum")
        T.clear(total)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[block * block_M, k * block_K], A_shared)
            T.copy(x[k * block_K], x_shared)
            for i, j in T.Parallel(block_M, block_K):
                total[i] += A_shared[i, j].astype(T.float32) * x_shared[j].astype(T.float32)
        T.finalize_reducer(total)
        T.copy(total, y[block * block_M])
    return y


def example(rng, num_stages=2):
    """Both kernels, and what NumPy says in float64."""
    a = rng.standard_normal((70, 600)).astype(np.float16)
    x = rng.standard_normal(600).astype(np.float16)
    expected = a.astype(np.float64) @ x.astype(np.float64)
    return (gemv(a, x), gemv_tiles(a, x, num_stages=num_stages)), (expected, expected)


if __name__ == "__main__":
    for name, result, expected in zip(
        ("gemv", "gemv_tiles"), *example(np.random.default_rng(0)), strict=True
    ):
        print(f"largest error, {name}:", np.abs(result - expected).max())
