"""Causal linear attention in chunks: inside a chunk a masked product, across chunks a state.

o[t] = sum over s <= t of (q[t] . k[s]) v[s]; the state is the sum of k[s]^T v[s] of past chunks.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def linear_attention(Q, K, V, chunk=32, block_V=32, num_stages=2, dtype="float16"):
    B, S, H, D = T.const("B, S, H, D")
    Q: T.Tensor((B, S, H, D), dtype)
    K: T.Tensor((B, S, H, D), dtype)
    V: T.Tensor((B, S, H, D), dtype)
    O = T.empty((B, S, H, D), T.float32)  # noqa: E741 - the name it has in every paper

    with T.Kernel(T.ceildiv(D, block_V), B * H, threads=128) as (bv, bh):
        b = bh // H
        h = bh % H
        q = T.alloc_shared([chunk, D], dtype)
        k = T.alloc_shared([chunk, D], dtype)
        v = T.alloc_shared([chunk, block_V], dtype)
        scores = T.alloc_fragment([chunk, chunk], T.float32)
        scores_shared = T.alloc_shared([chunk, chunk], dtype)
        out = T.alloc_fragment([chunk, block_V], T.float32)
        state = T.alloc_fragment([D, block_V], T.float32)
        state_shared = T.alloc_shared([D, block_V], dtype)
        T.clear(state)
        for i in T.Pipelined(T.ceildiv(S, chunk), num_stages=num_stages):
            T.copy(Q[b, i * chunk : (i + 1) * chunk, h, :], q)
            T.copy(K[b, i * chunk : (i + 1) * chunk, h, :], k)
            T.copy(V[b, i * chunk : (i + 1) * chunk, h, bv * block_V : (bv + 1) * block_V], v)
            T.gemm(q, k, scores, transpose_B=True, clear_accum=True)
            for row, column in T.Parallel(chunk, chunk):
                scores_shared[row, column] = T.if_then_else(row >= column, scores[row, column], 0)
            T.gemm(scores_shared, v, out, clear_accum=True)
            T.copy(state, state_shared)
            T.gemm(q, state_shared, out)
            T.gemm(k, v, state, transpose_A=True)
            T.copy(out, O[b, i * chunk : (i + 1) * chunk, h, bv * block_V : (bv + 1) * block_V])
    return O


def example(rng, num_stages=2):
    """The result and what NumPy says in float64."""
    q, k, v = (rng.standard_normal((3, 2, 100, 2, 64)) * 0.2).astype(np.float16)
    exact_q, exact_k, exact_v = (array.astype(np.float64) for array in (q, k, v))
    scores = np.einsum("bthd,bshd->bhts", exact_q, exact_k) * np.tri(100)
    return linear_attention(q, k, v, num_stages=num_stages), np.einsum(
        "bhts,bshd->bthd", scores, exact_v
    )


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
