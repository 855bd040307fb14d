"""Attention, backward, also with grouped heads: a block owns keys and walks over the queries.

Scores are transposed, keys along the rows: weights and their gradients stay in registers for dV
and dK, and only dQ needs them in shared memory. Blocks add to dQ atomically; heads that share
K and V are taken by the same block.
"""

from __future__ import annotations

import math

import tilewright as tw
from tilewright import T

FAST = {"tl.enable_fast_math": True}
LOG2_E = 1.44269504


@tw.jit(pass_configs=FAST)
def row_deltas(O, dO, dim=128, block_M=64, threads=256, dtype="bfloat16"):  # noqa: E741
    """Delta: O * dO summed over each row."""
    batch, length, heads = T.const("batch, length, heads")
    O: T.Tensor((batch, length, heads, dim), dtype)  # noqa: E741 - as in the literature
    dO: T.Tensor((batch, length, heads, dim), dtype)
    deltas = T.empty((batch, heads, length), T.float32)

    with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=threads) as (bx, head, b):
        out = T.alloc_fragment((block_M, dim), dtype)
        upstream = T.alloc_fragment((block_M, dim), dtype)
        wide = T.alloc_fragment((block_M, dim), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        T.copy(O[b, bx * block_M : (bx + 1) * block_M, head, :], out)
        T.copy(dO[b, bx * block_M : (bx + 1) * block_M, head, :], upstream)
        for i, j in T.Parallel(block_M, dim):
            wide[i, j] = T.cast(out[i, j], "float32") * T.cast(upstream[i, j], "float32")
        T.reduce_sum(wide, total, dim=1)
        T.copy(total, deltas[b, head, bx * block_M : (bx + 1) * block_M])
    return deltas


@tw.jit(pass_configs=FAST)
def gradients(
    Q,
    K,
    V,
    dO,
    logs,
    deltas,
    dQ,
    is_causal,
    dim=128,
    block_M=64,
    block_N=128,
    num_stages=2,
    threads=256,
    by_tma=True,
    dtype="bfloat16",
):
    """dK and dV; what belongs to dQ is added to it. `logs` are base-2 logarithms of row totals."""
    batch, length, heads, kv_heads = T.const("batch, length, heads, kv_heads")
    Q: T.Tensor((batch, length, heads, dim), dtype)
    K: T.Tensor((batch, length, kv_heads, dim), dtype)
    V: T.Tensor((batch, length, kv_heads, dim), dtype)
    dO: T.Tensor((batch, length, heads, dim), dtype)
    logs: T.Tensor((batch, heads, length), T.float32)
    deltas: T.Tensor((batch, heads, length), T.float32)
    dQ: T.Tensor((batch, length, heads, dim), T.float32)
    dK = T.empty((batch, length, kv_heads, dim), dtype)
    dV = T.empty((batch, length, kv_heads, dim), dtype)
    group = heads // kv_heads
    scale = 1 / math.sqrt(dim)
    blocks = T.ceildiv(length, block_M)

    with T.Kernel(T.ceildiv(length, block_N), kv_heads, batch, threads=threads) as (bx, head, b):
        K_shared = T.alloc_shared((block_N, dim), dtype)
        V_shared = T.alloc_shared((block_N, dim), dtype)
        Q_shared = T.alloc_shared((block_M, dim), dtype)
        dO_shared = T.alloc_shared((block_M, dim), dtype)
        log = T.alloc_shared((block_M,), T.float32)
        delta = T.alloc_shared((block_M,), T.float32)
        dS_shared = T.alloc_shared((block_N, block_M), dtype)
        dQ_shared = T.alloc_shared((block_M, dim), T.float32)
        P = T.alloc_fragment((block_N, block_M), T.float32)
        dP = T.alloc_fragment((block_N, block_M), T.float32)
        weights = T.alloc_fragment((block_N, block_M), dtype)
        dS = T.alloc_fragment((block_N, block_M), dtype)
        dK_sum = T.alloc_fragment((block_N, dim), T.float32)
        dV_sum = T.alloc_fragment((block_N, dim), T.float32)
        dQ_part = T.alloc_fragment((block_M, dim), T.float32)
        T.copy(K[b, bx * block_N : (bx + 1) * block_N, head, :], K_shared)
        T.copy(V[b, bx * block_N : (bx + 1) * block_N, head, :], V_shared)
        T.clear(dK_sum)
        T.clear(dV_sum)
        first = bx * block_N // block_M if is_causal else 0
        for n in T.Pipelined((blocks - first) * group, num_stages=num_stages):
            row = (first + n % (blocks - first)) * block_M
            h = head * group + n // (blocks - first)
            T.copy(Q[b, row : row + block_M, h, :], Q_shared)
            T.copy(dO[b, row : row + block_M, h, :], dO_shared)
            T.copy(logs[b, h, row : row + block_M], log)
            T.copy(deltas[b, h, row : row + block_M], delta)
            T.gemm(K_shared, Q_shared, P, transpose_B=True, clear_accum=True)
            T.gemm(V_shared, dO_shared, dP, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(block_N, block_M):
                P[i, j] = T.exp2(P[i, j] * (scale * LOG2_E) - log[j])
            if is_causal and row < (bx + 1) * block_N:
                for i, j in T.Parallel(block_N, block_M):
                    P[i, j] = T.if_then_else(bx * block_N + i > row + j, 0, P[i, j])
            T.copy(P, weights)
            for i, j in T.Parallel(block_N, block_M):
                dS[i, j] = P[i, j] * (dP[i, j] - delta[j])
            T.gemm(weights, dO_shared, dV_sum)
            T.copy(dS, dS_shared)
            T.gemm(dS_shared, K_shared, dQ_part, transpose_A=True, clear_accum=True)
            T.gemm(dS, Q_shared, dK_sum)
            if by_tma:
                T.copy(dQ_part, dQ_shared)
                T.atomic_add(dQ[b, row : row + block_M, h, :], dQ_shared, use_tma=True)
            else:
                T.atomic_add(dQ[b, row : row + block_M, h, :], dQ_part)
        for i, j in T.Parallel(block_N, dim):
            dK_sum[i, j] *= scale
        T.copy(dV_sum, dV[b, bx * block_N : (bx + 1) * block_N, head, :])
        T.copy(dK_sum, dK[b, bx * block_N : (bx + 1) * block_N, head, :])
    return dK, dV


@tw.jit
def scaled(X, factor, columns=128, rows=32, dtype="bfloat16"):
    """X * factor, narrow: dQ lacks the scale of the scores."""
    M = T.const("M")
    X: T.Tensor((M, columns), T.float32)
    Y = T.empty((M, columns), dtype)

    with T.Kernel(T.ceildiv(M, rows), threads=256) as bx:
        for i, j in T.Parallel(rows, columns):
            Y[bx * rows + i, j] = T.cast(X[bx * rows + i, j] * factor, dtype)
    return Y
