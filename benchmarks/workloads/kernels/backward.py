"""Attention, backward, also with grouped heads: a block owns keys and walks over the queries.

Scores are transposed, keys along the rows: weights and their gradients stay in registers for dV
and dK, and only dQ needs them in shared memory. Blocks add to dQ atomically; heads that share
K and V are taken by the same block. A tile of dQ is added in the order in which threads hold it,
16 bytes each, so that they write it without bank conflicts; `scaled` restores the order.
"""

from __future__ import annotations

import math

import tilewright as tw
from tilewright import T

FAST = {"tl.enable_fast_math": True}
LOG2_E = 1.44269504


@tw.jit(pass_configs=FAST)
def row_statistics(O, dO, logs, dQ, dim=128, block_M=64, threads=256, dtype="bfloat16"):  # noqa: E741
    """Of each row: `logs`, and O * dO summed over the row. dQ becomes zero."""
    batch, length, padded, heads = T.const("batch, length, padded, heads")
    O: T.Tensor((batch, length, heads, dim), dtype)  # noqa: E741 - as in the literature
    dO: T.Tensor((batch, length, heads, dim), dtype)
    logs: T.Tensor((batch, heads, length), T.float32)
    dQ: T.Tensor((batch, padded, heads, dim), T.float32)
    rows = T.empty((batch, heads, 2, length), T.float32)

    with T.Kernel(T.ceildiv(padded, block_M), heads, batch, threads=threads) as (bx, head, b):
        out = T.alloc_fragment((block_M, dim), dtype)
        upstream = T.alloc_fragment((block_M, dim), dtype)
        wide = T.alloc_fragment((block_M, dim), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.clear(dQ[b, bx * block_M : (bx + 1) * block_M, head, :])
        T.copy(O[b, bx * block_M : (bx + 1) * block_M, head, :], out)
        T.copy(dO[b, bx * block_M : (bx + 1) * block_M, head, :], upstream)
        for i, j in T.Parallel(block_M, dim):
            wide[i, j] = T.cast(out[i, j], "float32") * T.cast(upstream[i, j], "float32")
        T.reduce_sum(wide, total, dim=1)
        for i in T.Parallel(block_M):
            rows[b, head, 0, bx * block_M + i] = logs[b, head, bx * block_M + i]
        T.copy(total, rows[b, head, 1, bx * block_M : (bx + 1) * block_M])
    return rows


@tw.jit(pass_configs=FAST)
def gradients(
    Q,
    K,
    V,
    dO,
    rows,
    dQ,
    is_causal,
    dim=128,
    block_M=64,
    block_N=128,
    num_stages=2,
    threads=256,
    together=1,
    early=True,
    dtype="bfloat16",
):
    """dK and dV; what belongs to dQ is added to it. `rows`: base-2 logarithms of totals, deltas.

    Blocks of `together` heads run at a time, those with most queries first.
    """
    batch, length, padded, heads, kv_heads = T.const("batch, length, padded, heads, kv_heads")
    Q: T.Tensor((batch, length, heads, dim), dtype)
    K: T.Tensor((batch, length, kv_heads, dim), dtype)
    V: T.Tensor((batch, length, kv_heads, dim), dtype)
    dO: T.Tensor((batch, length, heads, dim), dtype)
    rows: T.Tensor((batch, heads, 2, length), T.float32)
    dQ: T.Tensor((batch, padded, heads, dim), T.float32)
    dK = T.empty((batch, length, kv_heads, dim), dtype)
    dV = T.empty((batch, length, kv_heads, dim), dtype)
    group, scale = heads // kv_heads, 1 / math.sqrt(dim)
    blocks, columns = T.ceildiv(length, block_M), T.ceildiv(length, block_N)

    with T.Kernel(columns * kv_heads * batch, threads=threads) as at:
        bx = at % (columns * together) // together
        which = at // (columns * together) * together + at % together
        head, b = which % kv_heads, which // kv_heads
        K_shared = T.alloc_shared((block_N, dim), dtype)
        V_shared = T.alloc_shared((block_N, dim), dtype)
        Q_shared = T.alloc_shared((block_M, dim), dtype)
        dO_shared = T.alloc_shared((block_M, dim), dtype)
        row = T.alloc_shared((2, block_M), T.float32)
        dS_shared = T.alloc_shared((block_N, block_M), dtype)
        dQ_shared = T.alloc_shared((block_M, dim), T.float32)
        P = T.alloc_fragment((block_N, block_M), T.float32)
        dP = T.alloc_fragment((block_N, block_M), T.float32)
        weights = T.alloc_fragment((block_N, block_M), dtype)
        dS = T.alloc_fragment((block_N, block_M), dtype)
        dK_sum = T.alloc_fragment((block_N, dim), T.float32)
        dV_sum = T.alloc_fragment((block_N, dim), T.float32)
        dQ_part = T.alloc_fragment((dim, block_M), T.float32)
        T.copy(K[b, bx * block_N : (bx + 1) * block_N, head, :], K_shared)
        T.copy(V[b, bx * block_N : (bx + 1) * block_N, head, :], V_shared)
        T.clear(dK_sum)
        T.clear(dV_sum)
        first = bx * block_N // block_M if is_causal else 0
        for n in T.Pipelined((blocks - first) * group, num_stages=num_stages):
            start = (first + n % (blocks - first)) * block_M
            h = head * group + n // (blocks - first)
            T.copy(Q[b, start : start + block_M, h, :], Q_shared)
            T.copy(dO[b, start : start + block_M, h, :], dO_shared)
            T.copy(rows[b, h, :, start : start + block_M], row)
            T.gemm(K_shared, Q_shared, P, transpose_B=True, clear_accum=True)
            T.gemm(V_shared, dO_shared, dP, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(block_N, block_M):
                P[i, j] = T.exp2(P[i, j] * (scale * LOG2_E) - row[0, j])
            if is_causal and start < (bx + 1) * block_N:
                for i, j in T.Parallel(block_N, block_M):
                    P[i, j] = T.if_then_else(bx * block_N + i > start + j, 0, P[i, j])
            T.copy(P, weights)
            if early:
                T.gemm(weights, dO_shared, dV_sum)
            for i, j in T.Parallel(block_N, block_M):
                dS[i, j] = P[i, j] * (dP[i, j] - row[1, j])
            if not early:
                T.gemm(weights, dO_shared, dV_sum)
            T.copy(dS, dS_shared)
            T.gemm(K_shared, dS_shared, dQ_part, transpose_A=True, clear_accum=True)
            T.gemm(dS, Q_shared, dK_sum)
            for k, t, e in T.Parallel(block_M // 8, threads, 4):
                dQ_shared[k * 8 + t // (dim // 4), t % (dim // 4) * 4 + e] = dQ_part[
                    t // 32 * 16 + e // 2 * 8 + t % 32 // 4, k * 8 + t % 4 * 2 + e % 2
                ]
            T.atomic_add(dQ[b, start : start + block_M, h, :], dQ_shared, use_tma=True)
        for i, j in T.Parallel(block_N, dim):
            dK_sum[i, j] *= scale
        T.copy(dV_sum, dV[b, bx * block_N : (bx + 1) * block_N, head, :])
        T.copy(dK_sum, dK[b, bx * block_N : (bx + 1) * block_N, head, :])
    return dK, dV


@tw.jit
def scaled(X, length, factor, dim=128, block_M=64, dtype="bfloat16"):
    """X * factor, narrow: dQ lacks the scale of the scores."""
    batch, padded, heads = T.const("batch, padded, heads")
    X: T.Tensor((batch, padded, heads, dim), T.float32)
    Y = T.empty((batch, length, heads, dim), dtype)

    with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=256) as (bx, head, b):
        tile = T.alloc_shared((block_M, dim + 4), T.float32)  # rows begin at different banks
        T.copy(X[b, bx * block_M : (bx + 1) * block_M, head, :], tile[:, :dim])
        for i, j in T.Parallel(block_M, dim):
            t, e = j // 16 * 32 + j % 8 * 4 + i % 8 // 2, j // 8 % 2 * 2 + i % 2
            x = tile[i // 8 * 8 + t // (dim // 4), t % (dim // 4) * 4 + e]
            Y[b, bx * block_M + i, head, j] = T.cast(x * factor, dtype)
    return Y
