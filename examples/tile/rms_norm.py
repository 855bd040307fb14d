"""Root-mean-square norm of rows: once with the whole row on chip, once in pieces of a row."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T

EPSILON = 1e-12


@tw.jit
def rms_norm(A, block_M=4, dtype="float32"):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    B = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
        A_shared = T.alloc_shared((block_M, N), dtype)
        squares = T.alloc_fragment((block_M, N), dtype)
        A_local = T.alloc_fragment((block_M, N), dtype)
        scale = T.alloc_fragment((block_M,), dtype)
        T.copy(A[bx * block_M : (bx + 1) * block_M, :], A_shared)
        T.copy(A_shared, A_local)
        for i, j in T.Parallel(block_M, N):
            squares[i, j] = A_local[i, j] * A_local[i, j]
        T.reduce_sum(squares, scale, dim=1)
        for i in T.Parallel(block_M):
            scale[i] = T.rsqrt(scale[i] / N + EPSILON)
        for i, j in T.Parallel(block_M, N):
            A_local[i, j] *= scale[i]
        T.copy(A_local, B[bx * block_M : (bx + 1) * block_M, :])
    return B


@tw.jit
def rms_norm_in_pieces(A, block_M=4, block_N=32, num_stages=2, dtype="float32"):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), dtype)
    B = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(M, block_M), threads=128) as bx:
        A_shared = T.alloc_shared((block_M, block_N), dtype)
        squares = T.alloc_fragment((block_M, block_N), dtype)
        scale = T.alloc_fragment((block_M,), dtype)
        T.clear(squares)
        for k in T.Pipelined(T.ceildiv(N, block_N), num_stages=num_stages):
            T.copy(A[bx * block_M, k * block_N], A_shared)
            for i, j in T.Parallel(block_M, block_N):
                squares[i, j] += A_shared[i, j] * A_shared[i, j]
        T.reduce_sum(squares, scale, dim=1)
        for i in T.Parallel(block_M):
            scale[i] = T.rsqrt(scale[i] / N + EPSILON)
        for k in T.Pipelined(T.ceildiv(N, block_N), num_stages=num_stages):
            T.copy(A[bx * block_M, k * block_N], A_shared)
            for i, j in T.Parallel(block_M, block_N):
                A_shared[i, j] *= scale[i]
            T.copy(A_shared, B[bx * block_M, k * block_N])
    return B


def example(rng, num_stages=2):
    """Both kernels, and what NumPy says in float64."""
    a = rng.standard_normal((22, 100), dtype=np.float32)
    exact = a.astype(np.float64)
    expected = exact / np.sqrt((exact**2).mean(axis=1, keepdims=True) + EPSILON)
    results = rms_norm(a), rms_norm_in_pieces(a, num_stages=num_stages)
    return results, (expected, expected)


if __name__ == "__main__":
    results, references = example(np.random.default_rng(0))
    for name, result, expected in zip(("whole row", "in pieces"), results, references, strict=True):
        print(f"largest error, {name}:", np.abs(result - expected).max())
