"""Kernels that the memory limits: each element is loaded once and stored at most once."""

from __future__ import annotations

import tilewright as tw
from tilewright import T

FAST = {"tl.enable_fast_math": True}
LOG2_E = 1.44269504
FP8_MAX = 448.0


@tw.jit(pass_configs=FAST)
def rms_norm_fp8(X, W, columns=8192, threads=256, dtype="bfloat16"):
    """RMS norm, then fp8 with one scale per row."""
    M = T.const("M")
    X: T.Tensor((M, columns), dtype)
    W: T.Tensor((columns,), dtype)
    Y = T.empty((M, columns), "float8_e4m3")
    scales = T.empty((M,), T.float32)

    with T.Kernel(M, threads=threads) as row:
        x = T.alloc_fragment((1, columns), dtype)
        w = T.alloc_fragment((columns,), dtype)
        wide = T.alloc_fragment((1, columns), T.float32)
        total = T.alloc_fragment((1,), T.float32)
        largest = T.alloc_fragment((1,), T.float32)
        T.copy(X[row : row + 1, :], x)
        T.copy(W, w)
        for i, j in T.Parallel(1, columns):
            wide[i, j] = T.cast(x[i, j], "float32") * T.cast(x[i, j], "float32")
        T.reduce_sum(wide, total, dim=1)
        for i, j in T.Parallel(1, columns):
            wide[i, j] = (
                T.cast(x[i, j], "float32")
                * T.rsqrt(total[i] / columns + 1e-6)
                * T.cast(w[j], "float32")
            )
        T.reduce_absmax(wide, largest, dim=1)
        for i in T.Parallel(1):
            largest[i] = T.max(largest[i], 1e-10) / FP8_MAX
            scales[row] = largest[i]
        for i, j in T.Parallel(1, columns):
            Y[row + i, j] = T.cast(wide[i, j] / largest[i], "float8_e4m3")
    return Y, scales


@tw.jit
def rotary(X, cosines, sines, heads=32, head=128, block=4, dtype="bfloat16"):
    """Each pair (j, j + head / 2) of each head turned by the angle of its position."""
    tokens = T.const("tokens")
    X: T.Tensor((tokens, heads, head), dtype)
    cosines: T.Tensor((tokens, head // 2), T.float32)
    sines: T.Tensor((tokens, head // 2), T.float32)
    Y = T.empty((tokens, heads, head), dtype)
    half = head // 2

    with T.Kernel(T.ceildiv(tokens, block), threads=256) as bx:
        for t, h, j in T.Parallel(block, heads, half):
            token = bx * block + t
            left = T.cast(X[token, h, j], "float32")
            right = T.cast(X[token, h, half + j], "float32")
            Y[token, h, j] = T.cast(left * cosines[token, j] - right * sines[token, j], dtype)
            Y[token, h, half + j] = T.cast(
                right * cosines[token, j] + left * sines[token, j], dtype
            )
    return Y


@tw.jit(pass_configs=FAST)
def cross_entropy(logits, targets, parts=4, threads=256, dtype="bfloat16"):
    """log(sum(exp(x))) - x[target], online: each thread has a maximum and a total of its own.

    Of a chunk a thread takes `parts` times 8 contiguous elements; V is a multiple of 8.
    """
    M, V = T.const("M, V")
    logits: T.Tensor((M, V), dtype)
    targets: T.Tensor((M,), T.int64)
    losses = T.empty((M,), T.float32)
    chunk = threads * parts * 8

    with T.Kernel(M, threads=threads) as row:
        thread = T.get_thread_binding(0)
        x = T.alloc_local((parts * 8,), dtype)
        largest = T.alloc_local((1,), T.float32)
        before = T.alloc_local((1,), T.float32)
        total = T.alloc_local((1,), T.float32)
        largest_of = T.alloc_shared((threads,), T.float32)
        total_of = T.alloc_shared((threads,), T.float32)
        largests = T.alloc_fragment((threads,), T.float32)
        totals = T.alloc_fragment((threads,), T.float32)
        largest_of_all = T.alloc_fragment((1,), T.float32)
        total_of_all = T.alloc_fragment((1,), T.float32)
        largest[0] = -1e30
        total[0] = 0
        for c in T.serial(T.ceildiv(V, chunk)):
            for p in T.unroll(parts):
                column = c * chunk + (p * threads + thread) * 8
                if column < V:
                    for j in T.vectorized(8):
                        x[p * 8 + j] = logits[row, column + j]
                else:
                    for j in T.unroll(8):
                        x[p * 8 + j] = T.cast(-1e30, dtype)
            before[0] = largest[0]
            for i in T.unroll(parts * 8):
                largest[0] = T.max(largest[0], T.cast(x[i], "float32"))
            total[0] *= T.exp2((before[0] - largest[0]) * LOG2_E)
            for i in T.unroll(parts * 8):
                total[0] += T.exp2(T.cast(x[i], "float32") * LOG2_E - largest[0] * LOG2_E)
        largest_of[thread] = largest[0]
        total_of[thread] = total[0]
        T.copy(largest_of, largests)
        T.copy(total_of, totals)
        T.reduce_max(largests, largest_of_all, dim=0)
        for i in T.Parallel(threads):
            totals[i] *= T.exp2((largests[i] - largest_of_all[0]) * LOG2_E)
        T.reduce_sum(totals, total_of_all, dim=0)
        for i in T.Parallel(1):
            losses[row] = (
                largest_of_all[i]
                + T.log2(total_of_all[i]) / LOG2_E
                - T.cast(logits[row, targets[row]], "float32")
            )
    return losses


@tw.jit
def top_k(logits, k=8, columns=256, block_M=16, threads=128, dtype="float32"):
    """The k largest of each row with their columns, as the router of a mixture of experts."""
    M = T.const("M")
    logits: T.Tensor((M, columns), dtype)
    values = T.empty((M, k), dtype)
    indices = T.empty((M, k), T.int32)

    with T.Kernel(T.ceildiv(M, block_M), threads=threads) as bx:
        x = T.alloc_fragment((block_M, columns), dtype)
        where = T.alloc_fragment((block_M, columns), T.int32)
        largest = T.alloc_fragment((block_M,), dtype)
        column = T.alloc_fragment((block_M,), T.int32)
        T.copy(logits[bx * block_M, 0], x)
        for n in T.serial(k):
            T.reduce_max(x, largest, dim=1)
            for i, j in T.Parallel(block_M, columns):
                where[i, j] = T.if_then_else(largest[i] == x[i, j], j, columns)
            T.reduce_min(where, column, dim=1)
            for i, j in T.Parallel(block_M, columns):
                x[i, j] = T.if_then_else(j == column[i], -T.infinity(dtype), x[i, j])
            for i in T.Parallel(block_M):
                values[bx * block_M + i, n] = largest[i]
                indices[bx * block_M + i, n] = column[i]
    return values, indices
