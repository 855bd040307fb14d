"""A @ B^T where B holds two 4-bit integers a byte: unpacked in registers, beside the product."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@T.macro
def unpack(packed, unpacked, block_N, block_K, dtype):
    """Low nibble first; values 0..15 stand for -8..7."""
    for i, j in T.Parallel(block_N, block_K):
        nibble = (packed[i, j // 2] >> ((j % 2) * 4).astype("uint8")) & T.uint8(15)
        unpacked[i, j] = (nibble.astype("int32") - 8).astype(dtype)


@tw.jit(out_idx=[-1])
def matmul_int4(M, N, K, block_M=32, block_N=32, block_K=32, num_stages=2):
    dtype = "float16"

    @T.prim_func
    def main(
        A: T.Tensor((M, K), dtype),
        B: T.Tensor((N, K // 2), "uint8"),
        C: T.Tensor((M, N), "float32"),
    ):
        with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, block_K), dtype)
            B_shared = T.alloc_shared((block_N, block_K // 2), "uint8")
            packed = T.alloc_fragment((block_N, block_K // 2), "uint8")
            unpacked = T.alloc_fragment((block_N, block_K), dtype)
            B_ready = T.alloc_shared((block_N, block_K), dtype)
            C_local = T.alloc_fragment((block_M, block_N), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[by * block_M, k * block_K], A_shared)
                T.copy(B[bx * block_N, k * block_K // 2], B_shared)
                T.copy(B_shared, packed)
                unpack(packed, unpacked, block_N, block_K, dtype)
                T.copy(unpacked, B_ready)
                T.gemm(A_shared, B_ready, C_local, transpose_B=True)
            T.copy(C_local, C[by * block_M, bx * block_N])

    return main


def example(rng, num_stages=2):
    """The result and what NumPy says in float64."""
    m, n, k = 50, 70, 96
    a = rng.standard_normal((m, k)).astype(np.float16)
    nibbles = rng.integers(0, 16, (n, k), dtype=np.uint8)
    packed = nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)
    weights = nibbles.astype(np.float64) - 8
    return matmul_int4(m, n, k, num_stages=num_stages)(a, packed), a.astype(np.float64) @ weights.T


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
