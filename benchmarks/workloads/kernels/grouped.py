"""One launch for the GEMMs of all experts: rows of A come in groups, and every group has its own B.

As many blocks as there are processors walk over the tiles. Which group a tile belongs to is looked
up: `tiles_of` makes the table from the ends of the groups.
"""

from __future__ import annotations

import tilewright as tw
from tilewright import T


@tw.jit
def tiles_of(ends, tiles, block_M=128, threads=128):
    """For each tile its group, its first row and the end of its rows; tiles too many have none."""
    groups = T.const("groups")
    ends: T.Tensor((groups,), T.int32)
    table = T.empty((tiles, 3), T.int32)

    with T.Kernel(T.ceildiv(tiles, threads), threads=threads) as block:
        tile = block * threads + T.get_thread_binding(0)
        first_tile = T.alloc_var(T.int32, 0)
        first_row = T.alloc_var(T.int32, 0)
        if tile < tiles:
            for i in T.unroll(3):
                table[tile, i] = 0
            for g in T.serial(groups):
                count = T.ceildiv(ends[g] - first_row, block_M)
                if tile >= first_tile and tile < first_tile + count:
                    table[tile, 0] = g
                    table[tile, 1] = first_row + (tile - first_tile) * block_M
                    table[tile, 2] = ends[g]
                first_tile += count
                first_row = ends[g]
    return table


@tw.jit
def grouped_gemm(
    A,
    B,
    table,
    block_M=128,
    block_N=256,
    block_K=64,
    num_stages=4,
    parts=2,
    panel=8,
    processors=132,
    threads=256,
    dtype="bfloat16",
):
    """Each group of rows of A times the B of the group."""
    M, N, K, groups, tiles = T.const("M, N, K, groups, tiles")
    A: T.Tensor((M, K), dtype)
    B: T.Tensor((groups, K, N), dtype)
    table: T.Tensor((tiles, 3), T.int32)
    C = T.empty((M, N), dtype)
    part_N = block_N // parts

    with T.Kernel(processors, threads=threads) as block:
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared((block_K, block_N), dtype)
        C_shared = T.alloc_shared((block_M, part_N + 8), dtype)  # rows begin in different banks
        C_local = T.alloc_fragment((block_M, block_N), T.float32)
        for by, bx in T.Persistent(
            [tiles, T.ceildiv(N, block_N)], processors, block, group_size=panel
        ):
            row = T.max(table[by, 1], 0)
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, block_K), num_stages=num_stages):
                T.copy(A[row : row + block_M, k * block_K : (k + 1) * block_K], A_shared)
                T.copy(B[table[by, 0], k * block_K, bx * block_N], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            for part in T.unroll(parts, explicit=True):
                T.copy(C_local[:, part * part_N : (part + 1) * part_N], C_shared[:, 0:part_N])
                column = bx * block_N + part * part_N
                for i, j in T.Parallel(block_M, part_N):
                    if row + i < table[by, 2]:  # the rows after it belong to the next group
                        C[row + i, column + j] = C_shared[i, j]
    return C
