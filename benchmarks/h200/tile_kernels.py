"""`T` kernels as an author would write them, in the sizes of an H200."""

from __future__ import annotations

import tilewright as tw
from benchmarks.h200.peers import tile_example
from tilewright import T

FAST = {"tl.enable_fast_math": True}

gemm = tile_example("gemm").gemm


@tw.jit
def gemm_fp8(A, B, block_M=128, block_N=256, block_K=128, num_stages=4, panel=8, out="bfloat16"):
    M, N, K = T.const("M, N, K")
    A: T.Tensor((M, K), "float8_e4m3")
    B: T.Tensor((N, K), "float8_e4m3")
    C = T.empty((M, N), out)

    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=256) as (bx, by):
        A_shared = T.alloc_shared((block_M, block_K), "float8_e4m3")
        B_shared = T.alloc_shared((block_N, block_K), "float8_e4m3")
        C_shared = T.alloc_shared((block_M, block_N), out)
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        T.use_swizzle(panel_size=panel)
        T.clear(C_local)
        for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
            T.copy(A[by * block_M, k * block_K], A_shared)
            T.copy(B[bx * block_N, k * block_K], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_B=True)
        T.copy(C_local, C_shared)
        T.copy(C_shared, C[by * block_M, bx * block_N])
    return C


@tw.jit(pass_configs=FAST)
def attention(
    Q, K, V, head=128, causal=False, block_M=128, block_N=128, threads=256, heads_first=False
):
    batch, heads, length = T.const("batch, heads, length")
    Q: T.Tensor((batch, heads, length, head), "float16")
    K: T.Tensor((batch, heads, length, head), "float16")
    V: T.Tensor((batch, heads, length, head), "float16")
    O = T.empty((batch, heads, length, head), "float16")  # noqa: E741 - as in the literature
    scale = head**-0.5 * 1.44269504

    # Blocks start in the order of the grid, its first axis fastest: all tiles of a head, which
    # share its keys in L2, or the same tile of all heads, so that the blocks that start last,
    # which have the least to do under a mask, are of all heads.
    tiles = T.ceildiv(length, block_M)
    grid = (heads, tiles) if heads_first else (tiles, heads)
    with T.Kernel(*grid, batch, threads=threads) as (bx, by, bz):
        start, y = (by, bx) if heads_first else (bx, by)
        Q_shared = T.alloc_shared([block_M, head], "float16")
        K_shared = T.alloc_shared([block_N, head], "float16")
        V_shared = T.alloc_shared([block_N, head], "float16")
        O_shared = T.alloc_shared([block_M, head], "float16")
        scores = T.alloc_fragment([block_M, block_N], T.float32)
        weights = T.alloc_fragment([block_M, block_N], "float16")
        out = T.alloc_fragment([block_M, head], T.float32)
        largest = T.alloc_fragment([block_M], T.float32)
        before = T.alloc_fragment([block_M], T.float32)
        shrink = T.alloc_fragment([block_M], T.float32)
        row_sum = T.alloc_fragment([block_M], T.float32)
        total = T.alloc_fragment([block_M], T.float32)
        # Under a causal mask the last rows have the most to do: they come first.
        tile = tiles - 1 - start if causal else start
        T.copy(Q[bz, y, tile * block_M : (tile + 1) * block_M, :], Q_shared)
        T.fill(out, 0)
        T.fill(total, 0)
        T.fill(largest, -T.infinity(T.float32))
        blocks = T.ceildiv((tile + 1) * block_M, block_N) if causal else T.ceildiv(length, block_N)
        for k in T.Pipelined(blocks, num_stages=2):
            T.copy(K[bz, y, k * block_N : (k + 1) * block_N, :], K_shared)
            T.clear(scores)
            T.gemm(Q_shared, K_shared, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow)
            if causal:  # noqa: SIM102 - known when the kernel is traced
                if (k + 1) * block_N > tile * block_M:  # only blocks on the diagonal
                    for i, j in T.Parallel(block_M, block_N):
                        scores[i, j] = T.if_then_else(
                            tile * block_M + i >= k * block_N + j,
                            scores[i, j],
                            -T.infinity(T.float32),
                        )
            T.copy(largest, before)
            T.fill(largest, -T.infinity(T.float32))
            T.reduce_max(scores, largest, dim=1, clear=False)
            for i in T.Parallel(block_M):
                largest[i] = T.max(largest[i], before[i])
            for i in T.Parallel(block_M):
                shrink[i] = T.exp2(before[i] * scale - largest[i] * scale)
            for i, j in T.Parallel(block_M, block_N):
                scores[i, j] = T.exp2(scores[i, j] * scale - largest[i] * scale)
            T.reduce_sum(scores, row_sum, dim=1)
            for i in T.Parallel(block_M):
                total[i] = total[i] * shrink[i] + row_sum[i]
            T.copy(scores, weights)
            for i, j in T.Parallel(block_M, head):
                out[i, j] *= shrink[i]
            T.copy(V[bz, y, k * block_N : (k + 1) * block_N, :], V_shared)
            T.gemm(weights, V_shared, out, policy=T.GemmWarpPolicy.FullRow)
        for i, j in T.Parallel(block_M, head):
            out[i, j] /= total[i]
        T.copy(out, O_shared)
        T.copy(O_shared, O[bz, y, tile * block_M : (tile + 1) * block_M, :])
    return O


@tw.jit
def add(A, B, block_M=32, block_N=512):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float16")
    B: T.Tensor((M, N), "float16")
    C = T.empty((M, N), "float16")
    with T.Kernel(T.ceildiv(N, block_N), T.ceildiv(M, block_M), threads=256) as (bx, by):
        for i, j in T.Parallel(block_M, block_N):
            C[by * block_M + i, bx * block_N + j] = (
                A[by * block_M + i, bx * block_N + j] + B[by * block_M + i, bx * block_N + j]
            )
    return C


@tw.jit
def rms_norm(X, columns=8192, rows=1, threads=256):
    M = T.const("M")
    X: T.Tensor((M, columns), "float16")
    Y = T.empty((M, columns), "float16")
    with T.Kernel(T.ceildiv(M, rows), threads=threads) as bx:
        x = T.alloc_fragment((rows, columns), "float16")
        squares = T.alloc_fragment((rows, columns), T.float32)
        scale = T.alloc_fragment((rows,), T.float32)
        T.copy(X[bx * rows : (bx + 1) * rows, :], x)
        for i, j in T.Parallel(rows, columns):
            squares[i, j] = T.cast(x[i, j], "float32") * T.cast(x[i, j], "float32")
        T.reduce_sum(squares, scale, dim=1)
        for i in T.Parallel(rows):
            scale[i] = T.rsqrt(scale[i] / columns + 1e-6)
        for i, j in T.Parallel(rows, columns):
            x[i, j] = T.cast(T.cast(x[i, j], "float32") * scale[i], "float16")
        T.copy(x, Y[bx * rows : (bx + 1) * rows, :])
    return Y


@tw.jit(pass_configs=FAST)
def softmax(X, columns=8192, rows=1, threads=256):
    M = T.const("M")
    X: T.Tensor((M, columns), "float16")
    Y = T.empty((M, columns), "float16")
    with T.Kernel(T.ceildiv(M, rows), threads=threads) as bx:
        x = T.alloc_fragment((rows, columns), "float16")
        e = T.alloc_fragment((rows, columns), T.float32)
        largest = T.alloc_fragment((rows,), T.float32)
        total = T.alloc_fragment((rows,), T.float32)
        T.copy(X[bx * rows : (bx + 1) * rows, :], x)
        for i, j in T.Parallel(rows, columns):
            e[i, j] = T.cast(x[i, j], "float32") * 1.44269504
        T.reduce_max(e, largest, dim=1)
        for i, j in T.Parallel(rows, columns):
            e[i, j] = T.exp2(e[i, j] - largest[i])
        T.reduce_sum(e, total, dim=1)
        for i, j in T.Parallel(rows, columns):
            x[i, j] = T.cast(e[i, j] / total[i], "float16")
        T.copy(x, Y[bx * rows : (bx + 1) * rows, :])
    return Y
