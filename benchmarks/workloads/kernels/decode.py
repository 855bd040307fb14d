"""Attention of one new query per sequence: keys are split among blocks, a second kernel combines.

A block owns the query heads that share a head of K and V (padded to the rows of an MMA) and a range
of keys; it leaves a weighted mean and the base-2 logarithm of the sum of its weights.
"""

from __future__ import annotations

import math

import tilewright as tw
from tilewright import T

FAST = {"tl.enable_fast_math": True}
LOG2_E = 1.44269504


@T.macro
def add_keys(scores, weights, out, largest, before, shrink, row_sum, total, scale, rows, keys, dim):
    """One step of the online softmax: `scores` become `weights`, `out` and `total` are rescaled."""
    T.copy(largest, before)
    T.reduce_max(scores, largest, dim=1, clear=False)
    for i in T.Parallel(rows):
        shrink[i] = T.exp2(before[i] * scale - largest[i] * scale)
    for i, j in T.Parallel(rows, keys):
        scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
    T.reduce_sum(scores, row_sum, dim=1)
    for i in T.Parallel(rows):
        total[i] = total[i] * shrink[i] + row_sum[i]
    T.copy(scores, weights)
    for i, j in T.Parallel(rows, dim):
        out[i, j] *= shrink[i]


@tw.jit(pass_configs=FAST)
def decode_parts(
    Q,
    K,
    V,
    splits,
    dim=128,
    rows=64,
    block_N=64,
    num_stages=2,
    threads=128,
    dtype="bfloat16",
):
    """Weighted means and logarithms of each range of keys."""
    batch, heads, kv_heads, length = T.const("batch, heads, kv_heads, length")
    Q: T.Tensor((batch, heads, dim), dtype)
    K: T.Tensor((batch, length, kv_heads, dim), dtype)
    V: T.Tensor((batch, length, kv_heads, dim), dtype)
    parts = T.empty((batch, heads, splits, dim), T.float32)
    logs = T.empty((batch, heads, splits), T.float32)
    group = heads // kv_heads
    scale = LOG2_E / math.sqrt(dim)
    blocks = T.ceildiv(length, block_N)

    with T.Kernel(splits, kv_heads, batch, threads=threads) as (split, head, b):
        T.pdl_trigger()  # `combine` waits for all parts by itself
        Q_shared = T.alloc_shared((rows, dim), dtype)
        K_shared = T.alloc_shared((block_N, dim), dtype)
        V_shared = T.alloc_shared((block_N, dim), dtype)
        scores = T.alloc_fragment((rows, block_N), T.float32)
        weights = T.alloc_fragment((rows, block_N), dtype)
        out = T.alloc_fragment((rows, dim), T.float32)
        largest = T.alloc_fragment((rows,), T.float32)
        before = T.alloc_fragment((rows,), T.float32)
        shrink = T.alloc_fragment((rows,), T.float32)
        row_sum = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        first = split * blocks // splits
        last = (split + 1) * blocks // splits
        for i, j in T.Parallel(rows, dim):
            Q_shared[i, j] = T.if_then_else(i < group, Q[b, head * group + i, j], T.cast(0, dtype))
        T.clear(out)
        T.clear(total)
        T.fill(largest, -1e30)
        for n in T.Pipelined(last - first, num_stages=num_stages):
            begin = (first + n) * block_N
            T.copy(K[b, begin : begin + block_N, head, :], K_shared)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
            if begin + block_N > length:
                for i, j in T.Parallel(rows, block_N):
                    scores[i, j] = T.if_then_else(begin + j < length, scores[i, j], -1e30)
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
                rows,
                block_N,
                dim,
            )
            T.copy(V[b, begin : begin + block_N, head, :], V_shared)
            T.gemm(weights, V_shared, out)
        for i, j in T.Parallel(rows, dim):
            if i < group:
                parts[b, head * group + i, split, j] = out[i, j] / total[i]
        for i in T.Parallel(rows):
            if i < group:
                logs[b, head * group + i, split] = T.log2(total[i]) + largest[i] * scale
    return parts, logs


@tw.jit(pass_configs=FAST)
def combine(parts, logs, splits, dim=128, chunk=32, columns=None, threads=256, dtype="bfloat16"):
    """The mean of the parts, weighted by the totals that they stand for.

    A block has `columns` of a head: with few heads, more blocks are in flight with fewer of them.
    """
    batch, heads = T.const("batch, heads")
    parts: T.Tensor((batch, heads, splits, dim), T.float32)
    logs: T.Tensor((batch, heads, splits), T.float32)
    O = T.empty((batch, heads, dim), dtype)  # noqa: E741 - as in the literature

    width = dim if columns is None else columns
    with T.Kernel(dim // width, heads, batch, threads=threads) as (piece, head, b):
        log = T.alloc_fragment((splits,), T.float32)
        largest = T.alloc_fragment((1,), T.float32)
        total = T.alloc_fragment((1,), T.float32)
        weights = T.alloc_shared((splits,), T.float32)
        part = T.alloc_fragment((chunk, width), T.float32)
        out = T.alloc_fragment((width,), T.float32)
        begin = piece * width
        T.pdl_sync()
        T.clear(part)
        for s, j in T.Parallel(chunk, width):  # in flight while the weights are computed
            if s < splits:
                part[s, j] = parts[b, head, s, begin + j]
        T.copy(logs[b, head, :], log)
        T.reduce_max(log, largest, dim=0)
        for s in T.Parallel(splits):
            log[s] = T.exp2(log[s] - largest[0])
        T.reduce_sum(log, total, dim=0)
        T.copy(log, weights)
        for s, j in T.Parallel(chunk, width):
            if s < splits:
                part[s, j] *= weights[s]
        for c in T.serial(1, T.ceildiv(splits, chunk)):
            for s, j in T.Parallel(chunk, width):
                if c * chunk + s < splits:
                    part[s, j] += parts[b, head, c * chunk + s, begin + j] * weights[c * chunk + s]
        T.reduce_sum(part, out, dim=0)
        for j in T.Parallel(width):
            O[b, head, begin + j] = T.cast(out[j] / total[0], dtype)
    return O


@tw.jit(pass_configs=FAST)
def decode_at_once(
    Q,
    K,
    V,
    splits,
    dim=128,
    rows=64,
    block_N=64,
    num_stages=2,
    threads=128,
    columns=32,
    dtype="bfloat16",
):
    """As `decode_parts` and `combine`, in one kernel: all blocks run at the same time.

    After the barrier of the grid each of them has `columns` of a head.
    """
    batch, heads, kv_heads, length = T.const("batch, heads, kv_heads, length")
    Q: T.Tensor((batch, heads, dim), dtype)
    K: T.Tensor((batch, length, kv_heads, dim), dtype)
    V: T.Tensor((batch, length, kv_heads, dim), dtype)
    parts = T.empty((batch, heads, splits, dim), T.float32)
    logs = T.empty((batch, heads, splits), T.float32)
    O = T.empty((batch, heads, dim), dtype)  # noqa: E741 - as in the literature
    group = heads // kv_heads
    scale = LOG2_E / math.sqrt(dim)
    blocks = T.ceildiv(length, block_N)
    pieces = dim // columns

    with T.Kernel(splits, kv_heads, batch, threads=threads) as (split, head, b):
        Q_shared = T.alloc_shared((rows, dim), dtype)
        K_shared = T.alloc_shared((block_N, dim), dtype)
        V_shared = T.alloc_shared((block_N, dim), dtype)
        scores = T.alloc_fragment((rows, block_N), T.float32)
        weights = T.alloc_fragment((rows, block_N), dtype)
        out = T.alloc_fragment((rows, dim), T.float32)
        largest = T.alloc_fragment((rows,), T.float32)
        before = T.alloc_fragment((rows,), T.float32)
        shrink = T.alloc_fragment((rows,), T.float32)
        row_sum = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        first = split * blocks // splits
        last = (split + 1) * blocks // splits
        for i, j in T.Parallel(rows, dim):
            Q_shared[i, j] = T.if_then_else(i < group, Q[b, head * group + i, j], T.cast(0, dtype))
        T.clear(out)
        T.clear(total)
        T.fill(largest, -1e30)
        for n in T.Pipelined(last - first, num_stages=num_stages):
            begin = (first + n) * block_N
            T.copy(K[b, begin : begin + block_N, head, :], K_shared)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
            if begin + block_N > length:
                for i, j in T.Parallel(rows, block_N):
                    scores[i, j] = T.if_then_else(begin + j < length, scores[i, j], -1e30)
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
                rows,
                block_N,
                dim,
            )
            T.copy(V[b, begin : begin + block_N, head, :], V_shared)
            T.gemm(weights, V_shared, out)
        for i, j in T.Parallel(rows, dim):
            if i < group:
                parts[b, head * group + i, split, j] = out[i, j] / total[i]
        for i in T.Parallel(rows):
            if i < group:
                logs[b, head * group + i, split] = T.log2(total[i]) + largest[i] * scale
        T.sync_grid()
        log = T.alloc_fragment((splits,), T.float32)
        top = T.alloc_fragment((1,), T.float32)
        weight = T.alloc_fragment((1,), T.float32)
        shares = T.alloc_shared((splits,), T.float32)
        part = T.alloc_fragment((splits, columns), T.float32)
        mean = T.alloc_fragment((columns,), T.float32)
        block = (b * kv_heads + head) * splits + split
        for r in T.serial(T.ceildiv(batch * heads * pieces, batch * kv_heads * splits)):
            piece = r * (batch * kv_heads * splits) + block
            if piece < batch * heads * pieces:
                of_batch = piece // (heads * pieces)
                of_head = piece // pieces % heads
                begin = piece % pieces * columns
                T.copy(logs[of_batch, of_head, :], log)
                T.reduce_max(log, top, dim=0)
                for s in T.Parallel(splits):
                    log[s] = T.exp2(log[s] - top[0])
                T.reduce_sum(log, weight, dim=0)
                T.copy(log, shares)
                for s, j in T.Parallel(splits, columns):
                    part[s, j] = parts[of_batch, of_head, s, begin + j] * shares[s]
                T.reduce_sum(part, mean, dim=0)
                for j in T.Parallel(columns):
                    O[of_batch, of_head, begin + j] = T.cast(mean[j] / weight[0], dtype)
    return O


@tw.jit(pass_configs=FAST)
def paged_parts(
    Q,
    K,
    V,
    tables,
    lengths,
    splits,
    dim=128,
    rows=64,
    num_stages=2,
    threads=128,
    dtype="bfloat16",
):
    """As `decode_parts`, with keys in pages: `tables[b, n]` is the n-th page of sequence b."""
    batch, heads, kv_heads = T.const("batch, heads, kv_heads")
    pages, page, longest = T.const("pages, page, longest")
    Q: T.Tensor((batch, heads, dim), dtype)
    K: T.Tensor((pages, page, kv_heads, dim), dtype)
    V: T.Tensor((pages, page, kv_heads, dim), dtype)
    tables: T.Tensor((batch, longest), T.int32)
    lengths: T.Tensor((batch,), T.int32)
    parts = T.empty((batch, heads, splits, dim), T.float32)
    logs = T.empty((batch, heads, splits), T.float32)
    group = heads // kv_heads
    scale = LOG2_E / math.sqrt(dim)

    with T.Kernel(splits, kv_heads, batch, threads=threads) as (split, head, b):
        T.pdl_trigger()
        Q_shared = T.alloc_shared((rows, dim), dtype)
        K_shared = T.alloc_shared((page, dim), dtype)
        V_shared = T.alloc_shared((page, dim), dtype)
        scores = T.alloc_fragment((rows, page), T.float32)
        weights = T.alloc_fragment((rows, page), dtype)
        out = T.alloc_fragment((rows, dim), T.float32)
        largest = T.alloc_fragment((rows,), T.float32)
        before = T.alloc_fragment((rows,), T.float32)
        shrink = T.alloc_fragment((rows,), T.float32)
        row_sum = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        blocks = T.ceildiv(lengths[b], page)
        first = split * blocks // splits
        last = (split + 1) * blocks // splits
        for i, j in T.Parallel(rows, dim):
            Q_shared[i, j] = T.if_then_else(i < group, Q[b, head * group + i, j], T.cast(0, dtype))
        T.clear(out)
        T.clear(total)
        T.fill(largest, -1e30)
        for n in T.Pipelined(last - first, num_stages=num_stages):
            T.copy(K[tables[b, first + n], :, head, :], K_shared)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, clear_accum=True)
            if (first + n + 1) * page > lengths[b]:
                for i, j in T.Parallel(rows, page):
                    scores[i, j] = T.if_then_else(
                        (first + n) * page + j < lengths[b], scores[i, j], -1e30
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
                rows,
                page,
                dim,
            )
            T.copy(V[tables[b, first + n], :, head, :], V_shared)
            T.gemm(weights, V_shared, out)
        for i, j in T.Parallel(rows, dim):
            if i < group:
                parts[b, head * group + i, split, j] = out[i, j] / T.max(total[i], 1e-30)
        for i in T.Parallel(rows):
            if i < group:
                logs[b, head * group + i, split] = T.log2(total[i]) + largest[i] * scale
    return parts, logs
