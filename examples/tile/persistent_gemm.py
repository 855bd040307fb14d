"""As many blocks as there are processors, each walks over tiles of C in an order kind to the L2.

While a tile is stored, the first slices of the next one are fetched. `parts` says in how many
pieces a tile goes through shared memory: in two, tiles of 128 x 256 leave room for a fourth stage
on Hopper, which makes this the faster product wherever a processor gets several tiles
(`docs/benchmarks.md`).
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def matmul_persistent(
    A, B, block_M=32, block_N=32, block_K=32, num_stages=2, parts=1, processors=6, dtype="float16"
):
    part_N = block_N // parts
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((K, N), dtype)
    C = T.empty((M, N), dtype)

    with T.Kernel(processors, threads=256) as block:
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        C_shared = T.alloc_shared((block_M, part_N), dtype)
        for bx, by in T.Persistent(
            [T.ceildiv(M, block_M), T.ceildiv(N, block_N)], processors, block
        ):
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[bx * block_M, k * block_K], A_shared)
                T.copy(B[k * block_K, by * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for part in T.unroll(parts, explicit=True):
                T.copy(C_local[:, part * part_N : (part + 1) * part_N], C_shared)
                T.copy(C_shared, C[bx * block_M, by * block_N + part * part_N])
    return C


def example(rng, num_stages=2):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((130, 96)).astype(np.float16)
    b = rng.standard_normal((96, 200)).astype(np.float16)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    return matmul_persistent(a, b, num_stages=num_stages), expected


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
