"""Attention with a state instead of a softmax, in chunks: linear attention, the gated delta rule.

A block owns columns of the state of one head and walks over the chunks of the sequence. Within a
chunk the queries see its keys by a masked GEMM, and all that came before by the state.
"""

from __future__ import annotations

import tilewright as tw
from tilewright import T

FAST = {"tl.enable_fast_math": True}


@tw.jit
def linear_attention(
    Q, K, V, dim=128, chunk=64, block_V=64, num_stages=2, threads=128, dtype="bfloat16"
):
    """o[t] = sum over s <= t of (q[t] . k[s]) v[s]."""
    batch, length, heads = T.const("batch, length, heads")
    Q: T.Tensor((batch, length, heads, dim), dtype)
    K: T.Tensor((batch, length, heads, dim), dtype)
    V: T.Tensor((batch, length, heads, dim), dtype)
    O = T.empty((batch, length, heads, dim), dtype)  # noqa: E741 - as in the literature

    with T.Kernel(T.ceildiv(dim, block_V), heads, batch, threads=threads) as (bv, head, b):
        Q_shared = T.alloc_shared((chunk, dim), dtype)
        K_shared = T.alloc_shared((chunk, dim), dtype)
        V_shared = T.alloc_shared((chunk, block_V), dtype)
        S_shared = T.alloc_shared((dim, block_V), dtype)
        scores = T.alloc_fragment((chunk, chunk), T.float32)
        weights = T.alloc_fragment((chunk, chunk), dtype)
        out = T.alloc_fragment((chunk, block_V), T.float32)
        state = T.alloc_fragment((dim, block_V), T.float32)
        column = bv * block_V
        T.clear(state)
        for n in T.Pipelined(T.ceildiv(length, chunk), num_stages=num_stages):
            row = n * chunk
            T.copy(Q[b, row : row + chunk, head, :], Q_shared)
            T.copy(K[b, row : row + chunk, head, :], K_shared)
            T.copy(V[b, row : row + chunk, head, column : column + block_V], V_shared)
            T.copy(state, S_shared)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
            T.gemm(Q_shared, S_shared, out, clear_accum=True)
            for i, j in T.Parallel(chunk, chunk):
                weights[i, j] = T.if_then_else(i >= j, scores[i, j], 0)
            T.gemm(weights, V_shared, out)
            T.gemm(K_shared, V_shared, state, transpose_A=True)
            T.copy(out, O[b, row : row + chunk, head, column : column + block_V])
    return O


@tw.jit(pass_configs=FAST)
def gated_delta_rule(
    Q, K, W, U, G, dim=128, chunk=64, block_V=64, num_stages=2, threads=128, dtype="bfloat16"
):
    """The state loses what it predicts for a key before it learns the value, and decays.

    W and U are keys and values times the inverse of a chunk's triangular matrix; G is the base-2
    logarithm of the decay, summed up within each chunk. The length is a multiple of `chunk`.
    """
    batch, length, heads = T.const("batch, length, heads")
    Q: T.Tensor((batch, length, heads, dim), dtype)
    K: T.Tensor((batch, length, heads, dim), dtype)
    W: T.Tensor((batch, length, heads, dim), dtype)
    U: T.Tensor((batch, length, heads, dim), dtype)
    G: T.Tensor((batch, heads, length), T.float32)
    O = T.empty((batch, length, heads, dim), dtype)  # noqa: E741 - as in the literature

    with T.Kernel(T.ceildiv(dim, block_V), heads, batch, threads=threads) as (bv, head, b):
        Q_shared = T.alloc_shared((chunk, dim), dtype)
        K_shared = T.alloc_shared((chunk, dim), dtype)
        W_shared = T.alloc_shared((chunk, dim), dtype)
        U_shared = T.alloc_shared((chunk, block_V), dtype)
        V_shared = T.alloc_shared((chunk, block_V), dtype)
        D_shared = T.alloc_shared((chunk, block_V), dtype)
        S_shared = T.alloc_shared((dim, block_V), dtype)
        g = T.alloc_shared((chunk,), T.float32)
        scores = T.alloc_fragment((chunk, chunk), T.float32)
        weights = T.alloc_fragment((chunk, chunk), dtype)
        seen = T.alloc_fragment((chunk, block_V), T.float32)
        out = T.alloc_fragment((chunk, block_V), T.float32)
        state = T.alloc_fragment((dim, block_V), T.float32)
        column = bv * block_V
        T.clear(state)
        for n in T.Pipelined(length // chunk, num_stages=num_stages):
            row = n * chunk
            T.copy(Q[b, row : row + chunk, head, :], Q_shared)
            T.copy(K[b, row : row + chunk, head, :], K_shared)
            T.copy(W[b, row : row + chunk, head, :], W_shared)
            T.copy(U[b, row : row + chunk, head, column : column + block_V], U_shared)
            T.copy(G[b, head, row : row + chunk], g)
            T.copy(state, S_shared)
            T.gemm(W_shared, S_shared, seen, clear_accum=True)
            T.gemm(Q_shared, S_shared, out, clear_accum=True)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(chunk, block_V):
                seen[i, j] = T.cast(U_shared[i, j], "float32") - seen[i, j]
            T.copy(seen, V_shared)
            for i, j in T.Parallel(chunk, block_V):
                D_shared[i, j] = seen[i, j] * T.exp2(g[chunk - 1] - g[i])
            for i, j in T.Parallel(chunk, block_V):
                out[i, j] *= T.exp2(g[i])
            for i, j in T.Parallel(chunk, chunk):
                weights[i, j] = T.if_then_else(i >= j, scores[i, j] * T.exp2(g[i] - g[j]), 0)
            for i, j in T.Parallel(dim, block_V):
                state[i, j] *= T.exp2(g[chunk - 1])
            T.gemm(weights, V_shared, out)
            T.gemm(K_shared, D_shared, state, transpose_A=True)
            T.copy(out, O[b, row : row + chunk, head, column : column + block_V])
    return O
