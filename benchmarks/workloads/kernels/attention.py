"""Attention with a sliding window and sinks, and MLA's decoding."""

from __future__ import annotations

import math

import tilewright as tw
from benchmarks.workloads.kernels.decode import LOG2_E, add_keys
from tilewright import T

FAST = {"tl.enable_fast_math": True}


@tw.jit(pass_configs=FAST)
def window_attention(
    Q,
    K,
    V,
    sinks,
    window=4096,
    dim=128,
    block_M=128,
    block_N=128,
    num_stages=2,
    threads=256,
    dtype="bfloat16",
):
    """Causal, each query sees `window` keys; a head's sink takes part in the sum of the weights."""
    batch, heads, kv_heads, length = T.const("batch, heads, kv_heads, length")
    Q: T.Tensor((batch, heads, length, dim), dtype)
    K: T.Tensor((batch, kv_heads, length, dim), dtype)
    V: T.Tensor((batch, kv_heads, length, dim), dtype)
    sinks: T.Tensor((heads,), T.float32)
    O = T.empty((batch, heads, length, dim), dtype)  # noqa: E741 - as in the literature
    scale = LOG2_E / math.sqrt(dim)
    group = heads // kv_heads

    with T.Kernel(T.ceildiv(length, block_M), heads, batch, threads=threads) as (bx, head, b):
        Q_shared = T.alloc_shared((block_M, dim), dtype)
        K_shared = T.alloc_shared((block_N, dim), dtype)
        V_shared = T.alloc_shared((block_N, dim), dtype)
        O_shared = T.alloc_shared((block_M, dim), dtype)
        scores = T.alloc_fragment((block_M, block_N), T.float32)
        weights = T.alloc_fragment((block_M, block_N), dtype)
        out = T.alloc_fragment((block_M, dim), T.float32)
        largest = T.alloc_fragment((block_M,), T.float32)
        before = T.alloc_fragment((block_M,), T.float32)
        shrink = T.alloc_fragment((block_M,), T.float32)
        row_sum = T.alloc_fragment((block_M,), T.float32)
        total = T.alloc_fragment((block_M,), T.float32)
        first = T.max(0, bx * block_M - window + 1) // block_N
        last = T.ceildiv(T.min(length, (bx + 1) * block_M), block_N)
        T.copy(Q[b, head, bx * block_M : (bx + 1) * block_M, :], Q_shared)
        T.clear(out)
        T.clear(total)
        T.fill(largest, -1e30)
        for n in T.Pipelined(last - first, num_stages=num_stages):
            begin = (first + n) * block_N
            T.copy(K[b, head // group, begin : begin + block_N, :], K_shared)
            T.gemm(
                Q_shared,
                K_shared,
                scores,
                transpose_B=True,
                clear_accum=True,
                policy=T.GemmWarpPolicy.FullRow,
            )
            if begin + block_N > bx * block_M or begin <= (bx + 1) * block_M - 1 - window:
                for i, j in T.Parallel(block_M, block_N):
                    distance = bx * block_M + i - begin - j
                    scores[i, j] = T.if_then_else(
                        distance >= 0 and distance < window, scores[i, j], -1e30
                    )
            add_keys(
                scores,
                weights,
                out,
                largest,
                before,
                shrink,
                row_sum,
                total,
                scale,
                block_M,
                block_N,
                dim,
            )
            T.copy(V[b, head // group, begin : begin + block_N, :], V_shared)
            T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
        for i in T.Parallel(block_M):
            total[i] += T.exp2(sinks[head] * LOG2_E - largest[i] * scale)
        for i, j in T.Parallel(block_M, dim):
            out[i, j] /= total[i]
        T.copy(out, O_shared)
        T.copy(O_shared, O[b, head, bx * block_M : (bx + 1) * block_M, :])
    return O


@tw.jit(pass_configs=FAST)
def mla_parts(
    Q,
    Q_rope,
    latent,
    K_rope,
    splits,
    dim=512,
    rope=64,
    rows=64,
    block_N=64,
    num_stages=2,
    threads=256,
    dtype="bfloat16",
):
    """Decoding with one latent head for all queries: keys and values are the same 512 columns.

    With one range of keys there is nothing to combine: the mean is the result.
    """
    batch, heads, length = T.const("batch, heads, length")
    kind = dtype if splits == 1 else T.float32
    Q: T.Tensor((batch, heads, dim), dtype)
    Q_rope: T.Tensor((batch, heads, rope), dtype)
    latent: T.Tensor((batch, length, dim), dtype)
    K_rope: T.Tensor((batch, length, rope), dtype)
    parts = T.empty((batch, heads, splits, dim), kind)
    logs = T.empty((batch, heads, splits), T.float32)
    scale = LOG2_E / math.sqrt(dim + rope)

    with T.Kernel(splits, T.ceildiv(heads, rows), batch, threads=threads) as (split, bh, b):
        Q_shared = T.alloc_shared((rows, dim), dtype)
        R_shared = T.alloc_shared((rows, rope), dtype)
        K_shared = T.alloc_shared((block_N, dim), dtype)
        P_shared = T.alloc_shared((block_N, rope), dtype)
        W_shared = T.alloc_shared((rows, block_N), dtype)
        scores = T.alloc_fragment((rows, block_N), T.float32)
        out = T.alloc_fragment((rows, dim), T.float32)
        largest = T.alloc_fragment((rows,), T.float32)
        before = T.alloc_fragment((rows,), T.float32)
        shrink = T.alloc_fragment((rows,), T.float32)
        row_sum = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        blocks = T.ceildiv(length, block_N)
        first = split * blocks // splits
        last = (split + 1) * blocks // splits
        T.copy(Q[b, bh * rows : (bh + 1) * rows, :], Q_shared)
        T.copy(Q_rope[b, bh * rows : (bh + 1) * rows, :], R_shared)
        T.clear(out)
        T.clear(total)
        T.fill(largest, -1e30)
        for n in T.Pipelined(last - first, num_stages=num_stages):
            begin = (first + n) * block_N
            T.copy(latent[b, begin : begin + block_N, :], K_shared)
            T.copy(K_rope[b, begin : begin + block_N, :], P_shared)
            T.gemm(
                Q_shared,
                K_shared,
                scores,
                transpose_B=True,
                clear_accum=True,
                policy=T.GemmWarpPolicy.FullCol,
            )
            T.gemm(R_shared, P_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
            if begin + block_N > length:
                for i, j in T.Parallel(rows, block_N):
                    scores[i, j] = T.if_then_else(begin + j < length, scores[i, j], -1e30)
            add_keys(
                scores,
                W_shared,
                out,
                largest,
                before,
                shrink,
                row_sum,
                total,
                scale,
                rows,
                block_N,
                dim,
            )
            T.gemm(W_shared, K_shared, out, policy=T.GemmWarpPolicy.FullCol)
        for i, j in T.Parallel(rows, dim):
            parts[b, bh * rows + i, split, j] = T.cast(out[i, j] / total[i], kind)
        for i in T.Parallel(rows):
            logs[b, bh * rows + i, split] = T.log2(total[i]) + largest[i] * scale
    return parts, logs
