"""A convolution of 3 x 3 or any other window as a GEMM: a tile of output positions is a box.

The rows of a tile are `tile` = images, lines and columns of the output, so for each position of the
window its input is a box as well, shifted by that position; TMA fetches it, with zeros outside the
image. With a stride, the image is viewed as `stride` x `stride` images of every n-th pixel.
"""

from __future__ import annotations

import tilewright as tw
from tilewright import T


@tw.jit
def convolution(
    images,
    filters,
    tile,
    stride=1,
    padding=1,
    block_N=128,
    block_K=64,
    num_stages=4,
    threads=256,
    dtype="float16",
):
    """Channels last; filters are (window, window, channels, filters)."""
    N, H, W, C, window, F = T.const("N, H, W, C, window, F")
    images: T.Tensor((N, H, W, C), dtype)
    filters: T.Tensor((window, window, C, F), dtype)
    height = (H + 2 * padding - window) // stride + 1
    width = (W + 2 * padding - window) // stride + 1
    out = T.empty((N, height, width, F), dtype)
    count, lines, columns = tile
    block_M = count * lines * columns
    depth = window * window * C
    rows, cells = T.ceildiv(height, lines), T.ceildiv(width, columns)

    with T.Kernel(T.ceildiv(F, block_N), cells * rows, T.ceildiv(N, count), threads=threads) as (
        bx,
        by,
        bz,
    ):
        patches = T.alloc_shared((count, lines, columns, block_K), dtype)
        weights = T.alloc_shared((block_K, block_N), dtype)
        out_local = T.alloc_fragment((block_M, block_N), T.float32)
        out_shared = T.alloc_shared((count, lines, columns, block_N), dtype)
        every = T.reshape(images, (N, H // stride, stride, W // stride, stride * C))
        filters_as_matrix = T.reshape(filters, (depth, F))
        n, y, x = bz * count, by // cells * lines, by % cells * columns
        T.clear(out_local)
        for k in T.Pipelined(depth // block_K, num_stages=num_stages):
            position = k * block_K // C
            down = position // window + (stride - 1) * padding  # at least 0, for // and %
            right = position % window + (stride - 1) * padding
            top = y + down // stride - padding
            left = x + right // stride - padding
            channel = right % stride * C + k * block_K % C
            T.copy(
                every[
                    n : n + count,
                    top : top + lines,
                    down % stride,
                    left : left + columns,
                    channel : channel + block_K,
                ],
                patches,
            )
            T.copy(filters_as_matrix[k * block_K, bx * block_N], weights)
            T.gemm(T.reshape(patches, (block_M, block_K)), weights, out_local)
        T.copy(out_local, T.reshape(out_shared, (block_M, block_N)))
        T.copy(
            out_shared,
            out[
                n : n + count,
                y : y + lines,
                x : x + columns,
                bx * block_N : (bx + 1) * block_N,
            ],
        )
    return out
