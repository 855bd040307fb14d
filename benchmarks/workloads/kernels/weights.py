"""GEMMs whose operands come with scales: 4-bit weights, and fp8 in blocks of 128."""

from __future__ import annotations

import tilewright as tw
from tilewright import T

GROUP = 128
"""Elements along K that share a scale."""


@tw.jit
def w4a16(
    A,
    B,
    scales,
    block_M=64,
    block_N=128,
    block_K=128,
    num_stages=3,
    threads=256,
    dtype="float16",
):
    """A @ dequantised(B)^T: two 4-bit integers a byte, low one first, 0..15 for -8..7."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K // 2), "uint8")
    scales: T.Tensor((N, K // GROUP), dtype)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_N, block_K // 2), "uint8")
        S_shared = T.alloc_shared((block_N,), dtype)
        packed = T.alloc_fragment((block_N, block_K // 2), "uint8")
        weights = T.alloc_fragment((block_N, block_K), dtype)
        ready = T.alloc_shared((block_N, block_K), dtype)
        out = T.alloc_fragment((block_M, block_N), T.float32)
        T.clear(out)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[bx * block_N, k * block_K // 2], B_shared)
            for j in T.Parallel(block_N):
                S_shared[j] = scales[bx * block_N + j, k * block_K // GROUP]
            T.copy(B_shared, packed)
            for j, i in T.Parallel(block_N, block_K):
                nibble = (packed[j, i // 2] >> ((i % 2) * 4).astype("uint8")) & T.uint8(15)
                # 1024 + n has the bits 0x6400 | n: the conversion is a subtraction.
                biased = T.reinterpret(nibble.astype("uint16") | T.uint16(0x6400), "float16")
                weights[j, i] = (biased - T.float16(1032)) * S_shared[j]
            T.copy(weights, ready)
            T.gemm(A_shared, ready, out, transpose_B=True)
        T.copy(out, C[by * block_M, bx * block_N])
    return C


@tw.jit
def w4a16_rows(
    A,
    B,
    scales,
    splits=1,
    block_M=64,
    block_N=64,
    block_K=128,
    num_stages=3,
    threads=128,
    dtype="float16",
):
    """As `w4a16`, transposed: weights become the operand in registers, and never see shared memory.

    Blocks share the columns of the weights: `splits` sums, which `added` adds up.
    """
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((N, K // 2), "uint8")
    scales: T.Tensor((N, K // GROUP), dtype)
    C = T.empty((splits, M, N), dtype if splits == 1 else "float32")

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), splits, threads=threads) as (
        bx,
        by,
        bz,
    ):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_N, block_K // 2), "uint8")
        packed = T.alloc_fragment((block_N, block_K // 2), "uint8")
        weights = T.alloc_fragment((block_N, block_K), dtype)
        S_shared = T.alloc_shared((block_N, K // splits // GROUP), dtype)
        out = T.alloc_fragment((block_N, block_M), T.float32)
        steps = K // block_K // splits
        T.copy(scales[bx * block_N, bz * (K // splits // GROUP)], S_shared)
        T.clear(out)
        for n in T.Pipelined(steps, num_stages=num_stages):
            k = bz * steps + n
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[bx * block_N, k * block_K // 2], B_shared)
            T.copy(B_shared, packed)
            for j, i in T.Parallel(block_N, block_K):
                nibble = (packed[j, i // 2] >> ((i % 2) * 4).astype("uint8")) & T.uint8(15)
                biased = T.reinterpret(nibble.astype("uint16") | T.uint16(0x6400), "float16")
                weights[j, i] = (biased - T.float16(1032)) * S_shared[j, n * block_K // GROUP]
            T.gemm(weights, A_shared, out, transpose_B=True)
        for j, i in T.Parallel(block_N, block_M):
            if by * block_M + i < M:
                C[bz, by * block_M + i, bx * block_N + j] = out[j, i]
    return C


@tw.jit
def added(parts, columns=1024, dtype="float16"):
    """The sum over the first dimension."""
    count, M, N = T.const("count, M, N")
    parts: T.Tensor((count, M, N), T.float32)
    C = T.empty((M, N), dtype)

    with T.Kernel(T.ceildiv(N, columns), M, threads=columns // 4) as (bx, row):
        total = T.alloc_fragment((columns,), T.float32)
        T.clear(total)
        for n in T.unroll(count):
            for j in T.Parallel(columns):
                total[j] += parts[n, row, bx * columns + j]
        T.copy(total, C[row, bx * columns : (bx + 1) * columns])
    return C


@tw.jit
def w4a16_one(A, B, scales, rows=8, lanes=32, part=32, dtype="float16"):
    """The same for one row of A: each warp owns rows of B, each lane `part` elements a step."""
    N, K = T.const("N, K")
    A: T.Tensor((1, K), dtype)
    B: T.Tensor((N, K // 2), "uint8")
    scales: T.Tensor((N, K // GROUP), dtype)
    C = T.empty((1, N), dtype)
    step = lanes * part

    with T.Kernel(T.ceildiv(N, rows), threads=(lanes, rows)) as bx:
        lane = T.get_thread_binding(0)
        row = bx * rows + T.get_thread_binding(1)
        a = T.alloc_local((part,), dtype)
        packed = T.alloc_local((part // 2,), "uint8")
        total = T.alloc_local((1,), T.float32)
        sum_of_part = T.alloc_local((1,), T.float32)
        T.clear(total)
        for k in T.serial(T.ceildiv(K, step)):
            begin = k * step + lane * part
            for i in T.vectorized(part // 2):
                packed[i] = B[row, begin // 2 + i]
            for i in T.vectorized(part):
                a[i] = A[0, begin + i]
            T.clear(sum_of_part)
            for i in T.unroll(part):
                nibble = (packed[i // 2] >> T.uint8((i % 2) * 4)) & T.uint8(15)
                sum_of_part[0] += T.cast(a[i], "float32") * T.cast(
                    nibble.astype("int32") - 8, "float32"
                )
            total[0] += sum_of_part[0] * T.cast(scales[row, begin // GROUP], "float32")
        total[0] = T.warp_reduce_sum(total[0])
        if lane == 0:
            C[0, row] = T.cast(total[0], dtype)
    return C


@tw.jit
def fp8_blocks(
    A,
    B,
    A_scales,
    B_scales,
    block_M=128,
    block_N=128,
    num_stages=4,
    threads=256,
    panel=8,
    out="bfloat16",
):
    """A @ B^T in fp8: a scale for 1 x 128 elements of A and for 128 x 128 of B."""
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float8_e4m3")
    B: T.Tensor((N, K), "float8_e4m3")
    A_scales: T.Tensor((M, K // GROUP), T.float32)
    B_scales: T.Tensor((N // GROUP, K // GROUP), T.float32)
    C = T.empty((M, N), out)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=threads) as (bx, by):
        A_shared = T.alloc_shared((block_M, GROUP), "float8_e4m3")
        B_shared = T.alloc_shared((block_N, GROUP), "float8_e4m3")
        C_shared = T.alloc_shared((block_M, block_N), out)
        scale = T.alloc_shared((block_M,), T.float32)
        part = T.alloc_fragment((block_M, block_N), T.float32)
        total = T.alloc_fragment((block_M, block_N), T.float32)
        T.use_swizzle(panel_size=panel)
        T.clear(total)
        for k in T.Pipelined(T.ceildiv(K, GROUP), num_stages=num_stages):
            T.copy(A[by * block_M, k * GROUP], A_shared)
            T.copy(B[bx * block_N, k * GROUP], B_shared)
            for i in T.Parallel(block_M):
                scale[i] = A_scales[by * block_M + i, k] * B_scales[bx * block_N // GROUP, k]
            T.gemm(A_shared, B_shared, part, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(block_M, block_N):
                total[i, j] += part[i, j] * scale[i]
        T.copy(total, C_shared)
        T.copy(C_shared, C[by * block_M, bx * block_N])
    return C
