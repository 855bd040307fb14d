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
def cross_entropy(logits, targets, part=16, threads=256, num_stages=2, dtype="bfloat16"):
    """log(sum(exp(x))) - x[target], online: each thread keeps a maximum and a sum of its own."""
    M, V = T.const("M, V")
    logits: T.Tensor((M, V), dtype)
    targets: T.Tensor((M,), T.int64)
    losses = T.empty((M,), T.float32)
    chunk = threads * part

    with T.Kernel(M, threads=threads) as row:
        x = T.alloc_fragment((threads, part), T.float32)
        largest = T.alloc_fragment((threads,), T.float32)
        before = T.alloc_fragment((threads,), T.float32)
        total = T.alloc_fragment((threads,), T.float32)
        of_chunk = T.alloc_fragment((threads,), T.float32)
        largest_of_all = T.alloc_fragment((1,), T.float32)
        total_of_all = T.alloc_fragment((1,), T.float32)
        T.fill(largest, -1e30)
        T.clear(total)
        for c in T.serial(T.ceildiv(V, chunk)):
            for i, j in T.Parallel(threads, part):
                column = c * chunk + i * part + j
                x[i, j] = T.if_then_else(
                    column < V, T.cast(logits[row, column], "float32") * LOG2_E, -1e30
                )
            T.copy(largest, before)
            T.reduce_max(x, largest, dim=1, clear=False)
            for i, j in T.Parallel(threads, part):
                x[i, j] = T.exp2(x[i, j] - largest[i])
            T.reduce_sum(x, of_chunk, dim=1)
            for i in T.Parallel(threads):
                total[i] = total[i] * T.exp2(before[i] - largest[i]) + of_chunk[i]
        T.reduce_max(largest, largest_of_all, dim=0)
        for i in T.Parallel(threads):
            total[i] *= T.exp2(largest[i] - largest_of_all[0])
        T.reduce_sum(total, total_of_all, dim=0)
        for i in T.Parallel(1):
            losses[row] = (largest_of_all[i] + T.log2(total_of_all[i])) / LOG2_E - T.cast(
                logits[row, targets[row]], "float32"
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
