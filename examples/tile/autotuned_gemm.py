"""A product whose tiles are chosen for its shape, by measuring.

On a machine with a GPU the first call of a shape tries all configurations and keeps the fastest.
Without one, times would mean nothing: the first configuration that compiles is taken. For a
Tenstorrent target, a cost model compares them.
"""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np

import tilewright as tw
from tilewright import T


def configurations(*_, **__):
    """Square tiles first: they are right for most shapes."""
    tiles = ((128, 128), (128, 256), (64, 128), (64, 64))
    return [
        {"block_M": m, "block_N": n, "block_K": k, "num_stages": stages, "threads": 2 * m}
        for (m, n), k, stages in itertools.product(tiles, (64, 32), (3, 4))
    ]


@tw.autotune(configs=configurations)
@tw.jit(out_idx=[-1])
def matmul(M, N, K, block_M=None, block_N=None, block_K=None, num_stages=None, threads=None):
    dtype, accumulator = T.bfloat16, T.float32

    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((N, K), dtype),
        C: T.Tensor((M, N), dtype),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_N, block_K), dtype)
            C_shared = T.alloc_shared((block_M, block_N), dtype)
            C_local = T.alloc_fragment((block_M, block_N), accumulator)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[bx * block_N, k * block_K], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C_shared)
            T.copy(C_shared, C[by * block_M, bx * block_N])

    return main


def example(rng):
    """The result and what NumPy says in float64."""
    m, n, k = 130, 144, 200
    a = rng.standard_normal((m, k)).astype(ml_dtypes.bfloat16)
    b = rng.standard_normal((n, k)).astype(ml_dtypes.bfloat16)
    kernel = matmul(m, n, k)
    return kernel(a, b), a.astype(np.float64) @ b.astype(np.float64).T


if __name__ == "__main__":
    print("configuration:", matmul(130, 144, 200).config)
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result.astype(np.float64) - expected).max())
