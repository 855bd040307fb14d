"""Two-dimensional convolution as a matrix product whose left operand is never stored.

Row = pixel of the result, column = output channel, depth = (input channel, tap): each program
computes where its pixels lie and gathers the patches tile by tile.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def conv2d_kernel(
    x_ptr, weight_ptr, out_ptr, images, channels, height, width,
    out_channels, out_height, out_width, stride, padding, R: tl.constexpr, S: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    pixels = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    outs = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    image = pixels // (out_height * out_width)
    top = pixels // out_width % out_height * stride - padding
    left = pixels % out_width * stride - padding
    depth = channels * R * S
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, depth, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        channel = k // (R * S)
        y = top[:, None] + (k // S % R)[None, :]
        x = left[:, None] + (k % S)[None, :]
        inside = (image[:, None] < images) & (k[None, :] < depth)
        inside = inside & (y >= 0) & (y < height) & (x >= 0) & (x < width)
        offsets = ((image[:, None] * channels + channel[None, :]) * height + y) * width + x
        patch = tl.load(x_ptr + offsets, mask=inside, other=0.0)
        weight_offsets = outs[None, :] * depth + k[:, None]
        weight_mask = (outs[None, :] < out_channels) & (k[:, None] < depth)
        weight = tl.load(weight_ptr + weight_offsets, mask=weight_mask, other=0.0)
        acc = tl.dot(patch, weight, acc)
    place = pixels % (out_height * out_width)
    out_offsets = (image[:, None] * out_channels + outs[None, :]) * (out_height * out_width)
    out_mask = (image[:, None] < images) & (outs[None, :] < out_channels)
    tl.store(out_ptr + out_offsets + place[:, None], acc.to(tl.float16), mask=out_mask)


def conv2d(x, weight, stride=1, padding=0):
    images, channels, height, width = x.shape
    out_channels, _, R, S = weight.shape
    out_height = (height + 2 * padding - R) // stride + 1
    out_width = (width + 2 * padding - S) // stride + 1
    out = np.empty((images, out_channels, out_height, out_width), np.float16)
    grid = (tw.cdiv(images * out_height * out_width, 64), tw.cdiv(out_channels, 32))
    conv2d_kernel[grid](
        x, weight, out, images, channels, height, width, out_channels, out_height, out_width,
        stride, padding, R=R, S=S, BLOCK_M=64, BLOCK_N=32, BLOCK_K=32,
    )  # fmt: skip
    return out


def reference(x, weight, stride, padding):
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (padding,) * 2, (padding,) * 2))
    windows = np.lib.stride_tricks.sliding_window_view(padded, weight.shape[2:], axis=(2, 3))
    windows = windows[:, :, ::stride, ::stride]
    return np.einsum("nchwrs,ocrs->nohw", windows, weight.astype(np.float64))


def example(rng):
    """The result and what NumPy says in float64."""
    x = rng.standard_normal((2, 5, 19, 23)).astype(np.float16)
    weight = rng.standard_normal((37, 5, 3, 3)).astype(np.float16)
    return conv2d(x, weight, stride=2, padding=1), reference(x, weight, 2, 1)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
