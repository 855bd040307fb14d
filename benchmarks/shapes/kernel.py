"""C = A B for any extents, in the forms that a tuner chooses among.

* `padded`: TMA cannot read rows whose bytes are not a multiple of 16. One kernel first copies such
  operands to rows that are. It moves the operand three times, which large GEMMs hardly notice;
  without it, threads copy the rows as they are.
* `split`: blocks share the tiles of C along K where there are few tiles; each leaves a part, and a
  second kernel adds the parts.
* `persistent`: a block per multiprocessor runs over tiles; it stores one while it fetches others.

B is row-major (K, N), or (N, K) if `transposed`.
"""

from __future__ import annotations

import tilewright as tw
from benchmarks.shapes.space import configurations, element_bytes, is_uneven, pad_tile, row_length
from tilewright import T

SUM_TILE = 4, 256
"""Elements of C of which a block adds the parts."""


@tw.autotune(configs=configurations, warmup=3, rep=15)
@tw.jit
def matmul(
    M,
    N,
    K,
    dtype="float16",
    out="float16",
    transposed=False,
    block_M=128,
    block_N=128,
    block_K=64,
    num_stages=4,
    threads=256,
    padded=True,
    split=1,
    persistent=False,
    parts=1,
    processors=132,
):
    size = element_bytes(dtype)
    A_shape, B_shape = (M, K), (N, K) if transposed else (K, N)
    B_tile = (block_N, block_K) if transposed else (block_K, block_N)
    pads_A = padded and is_uneven(A_shape, size)
    pads_B = padded and is_uneven(B_shape, size)
    steps = -(-K // block_K)
    part_N = block_N // parts

    def pad_blocks(shape):
        height, width = pad_tile(shape[1])
        return -(-shape[0] // height), -(-row_length(shape[1], size) // width)

    @T.macro
    def pad(source, target, block, shape):
        height, width = pad_tile(shape[1])
        across = pad_blocks(shape)[1]
        row, column = block // across * height, block % across * width
        for i, j in T.Parallel(height, width):
            target[row + i, column + j] = source[row + i, column + j]

    @T.macro
    def accumulate(left, right, C_local, row, column, first, count):
        A_shared = T.alloc_shared((block_M, block_K), dtype)
        B_shared = T.alloc_shared(B_tile, dtype)
        T.clear(C_local)
        for k in T.Pipelined(count, num_stages=num_stages):
            T.copy(left[row, (first + k) * block_K], A_shared)
            if transposed:
                T.copy(right[column, (first + k) * block_K], B_shared)
            else:
                T.copy(right[(first + k) * block_K, column], B_shared)
            T.gemm(A_shared, B_shared, C_local, transpose_B=transposed)

    @T.prim_func
    def main(
        A: T.Tensor(A_shape, dtype),
        B: T.Tensor(B_shape, dtype),
        C: T.Tensor((M, N), out),
    ):
        rows, columns = T.ceildiv(M, block_M), T.ceildiv(N, block_N)
        left, right = A, B
        A_blocks = B_blocks = 0
        if pads_A:
            left = T.empty((M, row_length(K, size)), dtype)
            A_blocks = pad_blocks(A_shape)[0] * pad_blocks(A_shape)[1]
        if pads_B:
            right = T.empty((B_shape[0], row_length(B_shape[1], size)), dtype)
            B_blocks = pad_blocks(B_shape)[0] * pad_blocks(B_shape)[1]
        if pads_A or pads_B:
            with T.Kernel(A_blocks + B_blocks, threads=256) as block:
                if not pads_B:
                    pad(A, left, block, A_shape)
                elif not pads_A:
                    pad(B, right, block, B_shape)
                elif block < A_blocks:
                    pad(A, left, block, A_shape)
                else:
                    pad(B, right, block - A_blocks, B_shape)

        if persistent:
            blocks = min(processors, rows * columns)
            with T.Kernel(blocks, threads=threads) as block:
                C_local = T.alloc_fragment((block_M, block_N), T.float32)
                C_shared = T.alloc_shared((block_M, part_N), out)
                for by, bx in T.Persistent([rows, columns], blocks, block):
                    accumulate(left, right, C_local, by * block_M, bx * block_N, 0, steps)
                    for part in T.unroll(parts, explicit=True):
                        T.copy(C_local[:, part * part_N : (part + 1) * part_N], C_shared)
                        T.copy(C_shared, C[by * block_M, bx * block_N + part * part_N])
        elif split == 1:
            with T.Kernel(columns, rows, threads=threads) as (bx, by):
                C_local = T.alloc_fragment((block_M, block_N), T.float32)
                C_shared = T.alloc_shared((block_M, block_N), out)
                T.use_swizzle(panel_size=8)
                accumulate(left, right, C_local, by * block_M, bx * block_N, 0, steps)
                T.copy(C_local, C_shared)
                T.copy(C_shared, C[by * block_M, bx * block_N])
        else:
            partial_C = T.empty((split, M, row_length(N, 4)), T.float32)
            with T.Kernel(columns, rows, split, threads=threads) as (bx, by, bz):
                C_local = T.alloc_fragment((block_M, block_N), T.float32)
                first = bz * steps // split
                count = (bz + 1) * steps // split - first
                accumulate(left, right, C_local, by * block_M, bx * block_N, first, count)
                T.copy(C_local, partial_C[bz, by * block_M, bx * block_N])
            height, width = SUM_TILE
            with T.Kernel(T.ceildiv(N, width), T.ceildiv(M, height), threads=256) as (bx, by):
                total = T.alloc_fragment((height, width), T.float32)
                T.clear(total)
                for part in T.unroll(split):
                    for i, j in T.Parallel(height, width):
                        total[i, j] += partial_C[part, by * height + i, bx * width + j]
                T.copy(total, C[by * height, bx * width])

    return main
