"""Fused attention, forward: softmax is kept up to date while K and V stream by.

The factory makes a kernel for fixed shapes; `out_idx` names the parameters that are results.
"""

from __future__ import annotations

import math

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit(out_idx=[3, 4])
def attention(
    batch, heads, context, dim, is_causal, block_M=64, block_N=32, num_stages=2, threads=128
):
    scale = 1.44269504 / math.sqrt(dim)  # log2(e): exp2 is what the hardware has
    shape = (batch, context, heads, dim)
    dtype, accumulator = T.float16, T.float32

    @T.prim_func
    def main(
        Q: T.Tensor(shape, dtype),
        K: T.Tensor(shape, dtype),
        V: T.Tensor(shape, dtype),
        Output: T.Tensor(shape, dtype),
        Lse: T.Tensor((batch, heads, context), accumulator),
    ):
        with T.Kernel(T.ceildiv(context, block_M), heads, batch, threads=threads) as (bx, by, bz):
            Q_shared = T.alloc_shared((block_M, dim), dtype)
            K_shared = T.alloc_shared((block_N, dim), dtype)
            V_shared = T.alloc_shared((block_N, dim), dtype)
            scores = T.alloc_fragment((block_M, block_N), accumulator)
            weights = T.alloc_fragment((block_M, block_N), dtype)
            out = T.alloc_fragment((block_M, dim), accumulator)
            largest = T.alloc_fragment((block_M,), accumulator)
            largest_before = T.alloc_fragment((block_M,), accumulator)
            shrink = T.alloc_fragment((block_M,), accumulator)
            row_sum = T.alloc_fragment((block_M,), accumulator)
            total = T.alloc_fragment((block_M,), accumulator)

            T.copy(Q[bz, bx * block_M : (bx + 1) * block_M, by, :], Q_shared)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -T.infinity(accumulator))
            blocks = (
                T.min(T.ceildiv(context, block_N), T.ceildiv((bx + 1) * block_M, block_N))
                if is_causal
                else T.ceildiv(context, block_N)
            )
            for k in T.Pipelined(blocks, num_stages=num_stages):
                T.copy(K[bz, k * block_N : (k + 1) * block_N, by, :], K_shared)
                for i, j in T.Parallel(block_M, block_N):
                    if is_causal:
                        scores[i, j] = T.if_then_else(
                            bx * block_M + i >= k * block_N + j, 0, -T.infinity(accumulator)
                        )
                    else:
                        scores[i, j] = T.if_then_else(
                            k * block_N + j >= context, -T.infinity(accumulator), 0
                        )
                T.gemm(
                    Q_shared,
                    K_shared,
                    scores,
                    transpose_B=True,
                    policy=T.GemmWarpPolicy.FullRow,
                )
                T.copy(largest, largest_before)
                T.fill(largest, -T.infinity(accumulator))
                T.reduce_max(scores, largest, dim=1, clear=False)
                for i in T.Parallel(block_M):
                    largest[i] = T.max(largest[i], largest_before[i])
                for i in T.Parallel(block_M):
                    shrink[i] = T.exp2(largest_before[i] * scale - largest[i] * scale)
                for i, j in T.Parallel(block_M, block_N):
                    scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
                T.reduce_sum(scores, row_sum, dim=1)
                for i in T.Parallel(block_M):
                    total[i] = total[i] * shrink[i] + row_sum[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(block_M, dim):
                    out[i, j] *= shrink[i]
                T.copy(V[bz, k * block_N : (k + 1) * block_N, by, :], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                out[i, j] /= total[i]
            T.copy(out, Output[bz, bx * block_M : (bx + 1) * block_M, by, :])
            for i in T.Parallel(block_M):
                total[i] = T.log2(total[i]) + largest[i] * scale
            T.copy(total, Lse[bz, by, bx * block_M : (bx + 1) * block_M])

    return main


def reference(q, k, v, is_causal):
    """Attention in float64, and the logarithm (base 2) of the sum of exponentials."""
    q, k, v = (array.astype(np.float64).transpose(0, 2, 1, 3) for array in (q, k, v))
    scores = q @ k.swapaxes(2, 3) / math.sqrt(q.shape[-1])
    if is_causal:
        scores = np.where(np.tri(q.shape[2], dtype=bool), scores, -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - largest)
    total = powers.sum(axis=-1, keepdims=True)
    lse = (largest + np.log(total))[..., 0] / math.log(2)
    return (powers / total @ v).transpose(0, 2, 1, 3), lse


def example(rng, num_stages=2):
    """Causal and full attention, and what NumPy says in float64."""
    shape = batch, context, heads, dim = 1, 100, 2, 32
    q, k, v = rng.standard_normal((3, *shape)).astype(np.float16)
    results, references = [], []
    for is_causal in (True, False):
        kernel = attention(batch, heads, context, dim, is_causal, num_stages=num_stages)
        results += kernel(q, k, v)
        references += reference(q, k, v, is_causal)
    return tuple(results), tuple(references)


if __name__ == "__main__":
    names = "causal", "causal, lse", "full", "full, lse"
    for name, result, expected in zip(names, *example(np.random.default_rng(0)), strict=True):
        print(f"largest error, {name}:", np.abs(result - expected).max())
