"""Attention over sequences of any lengths, packed one after the other, with grouped heads.

No padding: sequence `s` has the rows `starts[s]` to `starts[s + 1]` of its tensor, queries and keys
counted apart. Groups of `groups` query heads share a head of K and V. A causal mask is aligned at
the end of the sequences: the last query sees every key.
"""

from __future__ import annotations

import math

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit(out_idx=[-1])
def attention_varlen(
    sequences,
    heads,
    groups,
    queries,
    keys,
    dim,
    is_causal,
    block_M=64,
    block_N=64,
    num_stages=2,
    threads=128,
):
    scale = 1.44269504 / math.sqrt(dim)  # log2(e): exp2 is what the hardware has
    dtype, accumulator = T.float16, T.float32

    @T.prim_func
    def main(
        Q: T.Tensor((queries, heads, dim), dtype),
        K: T.Tensor((keys, heads // groups, dim), dtype),
        V: T.Tensor((keys, heads // groups, dim), dtype),
        q_starts: T.Tensor((sequences + 1,), T.int32),
        k_starts: T.Tensor((sequences + 1,), T.int32),
        longest: T.int32,
        Output: T.Tensor((queries, heads, dim), dtype),
    ):
        with T.Kernel(T.ceildiv(longest, block_M), heads, sequences, threads=threads) as (
            bx,
            head,
            sequence,
        ):
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

            q_start = q_starts[sequence]
            k_start = k_starts[sequence]
            q_length = q_starts[sequence + 1] - q_start
            k_length = k_starts[sequence + 1] - k_start
            q_row = bx * block_M
            ahead = k_length - q_length  # query i sees the keys up to i + ahead
            visible = T.min(k_length, T.max(0, q_row + block_M + ahead)) if is_causal else k_length

            T.copy(Q[q_start + q_row : q_start + q_row + block_M, head, :], Q_shared)
            T.fill(out, 0)
            T.fill(total, 0)
            T.fill(largest, -1e30)
            for k in T.Pipelined(T.ceildiv(visible, block_N), num_stages=num_stages):
                k_row = k_start + k * block_N
                T.copy(K[k_row : k_row + block_N, head // groups, :], K_shared)
                for i, j in T.Parallel(block_M, block_N):
                    end = T.min(k_length, q_row + i + ahead + 1) if is_causal else k_length
                    scores[i, j] = T.if_then_else(
                        k * block_N + j < end, 0, -T.infinity(accumulator)
                    )
                T.gemm(
                    Q_shared,
                    K_shared,
                    scores,
                    transpose_B=True,
                    policy=T.GemmWarpPolicy.FullRow,
                )
                T.copy(largest, largest_before)
                T.reduce_max(scores, largest, dim=1, clear=False)
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
                T.copy(V[k_row : k_row + block_N, head // groups, :], V_shared)
                T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
            for i, j in T.Parallel(block_M, dim):
                if q_row + i < q_length:  # the rows behind belong to the next sequence
                    Output[q_start + q_row + i, head, j] = T.if_then_else(
                        total[i] > 0, out[i, j] / total[i], 0
                    )

    return main


def reference(q, k, v, q_starts, k_starts, is_causal):
    """One sequence after the other in float64; queries that see no key give zero."""
    groups = q.shape[1] // k.shape[1]
    out = np.zeros(q.shape)
    for q_start, q_end, k_start, k_end in zip(
        q_starts[:-1], q_starts[1:], k_starts[:-1], k_starts[1:], strict=True
    ):
        one_q = q[q_start:q_end].astype(np.float64)
        one_k, one_v = (
            np.repeat(array[k_start:k_end].astype(np.float64), groups, axis=1) for array in (k, v)
        )
        scores = np.einsum("qhd,khd->hqk", one_q, one_k) / math.sqrt(q.shape[-1])
        if is_causal:
            ahead = (k_end - k_start) - (q_end - q_start)
            seen = np.tri(q_end - q_start, k_end - k_start, ahead, dtype=bool)
            scores = np.where(seen, scores, -np.inf)
        largest = np.maximum(scores.max(axis=-1, keepdims=True), -1e30)
        powers = np.exp(scores - largest)
        total = powers.sum(axis=-1, keepdims=True)
        weights = np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)
        out[q_start:q_end] = np.einsum("hqk,khd->qhd", weights, one_v)
    return out


def example(rng, num_stages=2):
    """Three sequences, causal and not, and what NumPy says in float64."""
    heads, groups, dim = 2, 2, 32
    q_lengths, k_lengths = np.array([70, 1, 20]), np.array([90, 65, 9])
    q_starts, k_starts = (
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        for lengths in (q_lengths, k_lengths)
    )
    q = rng.standard_normal((q_starts[-1], heads, dim)).astype(np.float16)
    k, v = rng.standard_normal((2, k_starts[-1], heads // groups, dim)).astype(np.float16)
    results, references = [], []
    for is_causal in (True, False):
        kernel = attention_varlen(
            len(q_lengths),
            heads,
            groups,
            int(q_starts[-1]),
            int(k_starts[-1]),
            dim,
            is_causal,
            num_stages=num_stages,
        )
        results.append(kernel(q, k, v, q_starts, k_starts, int(q_lengths.max())))
        references.append(reference(q, k, v, q_starts, k_starts, is_causal))
    return tuple(results), tuple(references)


if __name__ == "__main__":
    for name, result, expected in zip(
        ("causal", "full"), *example(np.random.default_rng(0)), strict=True
    ):
        print(f"largest error, {name}:", np.abs(result - expected).max())
