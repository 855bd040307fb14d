"""Rotary position embedding, in place: the two halves of a head turn by an angle per position."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def rotary_kernel(
    x_ptr, cos_ptr, sin_ptr, heads, stride_position, stride_head,
    HALF: tl.constexpr, BLOCK_H: tl.constexpr, BACKWARD: tl.constexpr,
):  # fmt: skip
    position = tl.program_id(0)
    dims = tl.arange(0, HALF)
    cos = tl.load(cos_ptr + position * HALF + dims)[None, :]
    sin = tl.load(sin_ptr + position * HALF + dims)[None, :]
    if BACKWARD:
        sin = -sin
    rows = tl.arange(0, BLOCK_H)[:, None]
    left_ptrs = x_ptr + position * stride_position + rows * stride_head + dims[None, :]
    right_ptrs = left_ptrs + HALF
    inside = rows < heads
    left = tl.load(left_ptrs, mask=inside, other=0.0)
    right = tl.load(right_ptrs, mask=inside, other=0.0)
    tl.store(left_ptrs, left * cos - right * sin, mask=inside)
    tl.store(right_ptrs, right * cos + left * sin, mask=inside)


def rotate(x, cos, sin, backward=False):
    positions, heads, dim = x.shape
    rotary_kernel[(positions,)](
        x, cos, sin, heads, heads * dim, dim,
        HALF=dim // 2, BLOCK_H=tw.next_power_of_2(heads), BACKWARD=backward,
    )  # fmt: skip
    return x


def example(rng):
    """Turned heads, and what NumPy says in float64."""
    x = rng.standard_normal((61, 6, 64), dtype=np.float32)
    angles = np.arange(61)[:, None] * 10_000.0 ** (-np.arange(32) / 32)
    cos, sin = np.cos(angles), np.sin(angles)
    left, right = x[..., :32].astype(np.float64), x[..., 32:].astype(np.float64)
    c, s = cos[:, None, :], sin[:, None, :]
    expected = np.concatenate([left * c - right * s, right * c + left * s], axis=-1)
    return rotate(x.copy(), cos.astype(np.float32), sin.astype(np.float32)), expected


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
