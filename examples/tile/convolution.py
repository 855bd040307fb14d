"""A convolution as a matrix product: rows of the left matrix are patches of the image.

That matrix has every pixel `window` squared times and is never made. `T.im2col` fetches a tile of
it from the image, with zeros where a patch reaches over the edge.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import T


@tw.jit
def convolution(
    images,
    filters,
    stride=1,
    dilation=1,
    padding=1,
    block_M=64,
    block_N=128,
    block_K=32,
    num_stages=3,
    threads=256,
    dtype="float16",
):
    N, H, W, C, window, F = T.const("N, H, W, C, window, F")
    images: T.Tensor((N, H, W, C), dtype)
    filters: T.Tensor((window, window, C, F), dtype)
    reach = dilation * (window - 1) + 1
    height = (H + 2 * padding - reach) // stride + 1
    width = (W + 2 * padding - reach) // stride + 1
    out = T.empty((N, height, width, F), dtype)
    pixels, depth = N * height * width, window * window * C

    with T.Kernel(T.ceildiv(F, block_N), T.ceildiv(pixels, block_M), threads=threads) as (bx, by):
        patches = T.alloc_shared((block_M, block_K), dtype)
        weights = T.alloc_shared((block_K, block_N), dtype)
        out_local = T.alloc_fragment((block_M, block_N), T.float32)
        out_shared = T.alloc_shared((block_M, block_N), dtype)
        filters_as_matrix = T.reshape(filters, (depth, F))
        out_as_matrix = T.reshape(out, (pixels, F))
        T.clear(out_local)
        for k in T.Pipelined(T.ceildiv(depth, block_K), num_stages=num_stages):
            T.im2col(images, patches, by, k, window, stride, dilation, padding)
            T.copy(filters_as_matrix[k * block_K, bx * block_N], weights)
            T.gemm(patches, weights, out_local)
        T.copy(out_local, out_shared)
        T.copy(out_shared, out_as_matrix[by * block_M, bx * block_N])
    return out


def reference(images, filters, stride, dilation, padding):
    """The sum over the window, one shifted image at a time, in float64."""
    window = filters.shape[0]
    reach = dilation * (window - 1) + 1
    edge = (padding, padding)
    padded = np.pad(images.astype(np.float64), ((0, 0), edge, edge, (0, 0)))
    height = (padded.shape[1] - reach) // stride + 1
    width = (padded.shape[2] - reach) // stride + 1
    total = np.zeros((images.shape[0], height, width, filters.shape[3]))
    for y in range(window):
        for x in range(window):
            rows = slice(y * dilation, y * dilation + stride * (height - 1) + 1, stride)
            columns = slice(x * dilation, x * dilation + stride * (width - 1) + 1, stride)
            total += padded[:, rows, columns, :] @ filters[y, x].astype(np.float64)
    return total


def example(rng, num_stages=3):
    """Two images, then with steps of two, and what NumPy says in float64."""
    images = rng.standard_normal((2, 9, 8, 32)).astype(np.float16)
    filters = (rng.standard_normal((3, 3, 32, 40)) / 16).astype(np.float16)
    results, references = [], []
    for stride in (1, 2):
        results.append(convolution(images, filters, stride, num_stages=num_stages))
        references.append(reference(images, filters, stride, dilation=1, padding=1))
    return tuple(results), tuple(references)


if __name__ == "__main__":
    for result, expected in zip(*example(np.random.default_rng(0)), strict=True):
        print(f"largest error, {result.shape}:", np.abs(result - expected).max())
