"""Matrix product of 8-bit floats with one power-of-two scale per 32 elements (MXFP8)."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import tilewright as tw
from tilewright import tl

VECTOR = 32  # elements that share a scale


@tw.jit
def scaled_kernel(
    a_ptr, a_scale_ptr, b_ptr, b_scale_ptr, out_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, VEC: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    groups = tl.arange(0, BLOCK_K // VEC)
    row_inside = rows[:, None] < M
    column_inside = columns[:, None] < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a_ptrs = a_ptr + rows[:, None] * K + k + depth[None, :]
        b_ptrs = b_ptr + columns[:, None] * K + k + depth[None, :]
        a_scale_ptrs = a_scale_ptr + rows[:, None] * (K // VEC) + k // VEC + groups[None, :]
        b_scale_ptrs = b_scale_ptr + columns[:, None] * (K // VEC) + k // VEC + groups[None, :]
        a = tl.load(a_ptrs, mask=row_inside, other=0.0)
        b = tl.load(b_ptrs, mask=column_inside, other=0.0)
        a_scale = tl.load(a_scale_ptrs, mask=row_inside, other=0)
        b_scale = tl.load(b_scale_ptrs, mask=column_inside, other=0)
        acc = tl.dot_scaled(a, a_scale, "e4m3", b.T, b_scale, "e4m3", acc)
    out_ptrs = out_ptr + rows[:, None] * N + columns[None, :]
    tl.store(out_ptrs, acc, mask=row_inside & (columns[None, :] < N))


def scaled_matmul(a, a_scale, b, b_scale):
    (M, K), N = a.shape, b.shape[0]
    out = np.empty((M, N), np.float32)
    scaled_kernel[(tw.cdiv(M, 64), tw.cdiv(N, 64))](
        a, a_scale, b, b_scale, out, M, N, K, BLOCK_M=64, BLOCK_N=64, BLOCK_K=64, VEC=VECTOR
    )
    return out


def dequantise(values, scales):
    """Scales are biased exponents: 127 stands for one."""
    factors = np.exp2(scales.astype(np.float64) - 127)
    return values.astype(np.float64) * np.repeat(factors, VECTOR, axis=1)


def example(rng):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((100, 128)).astype(ml_dtypes.float8_e4m3fn)
    b = rng.standard_normal((72, 128)).astype(ml_dtypes.float8_e4m3fn)
    a_scale = rng.integers(120, 132, (100, 4), dtype=np.uint8)
    b_scale = rng.integers(120, 132, (72, 4), dtype=np.uint8)
    return scaled_matmul(a, a_scale, b, b_scale), dequantise(a, a_scale) @ dequantise(b, b_scale).T


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest relative error:", np.abs((result - expected) / expected).max())
