"""Groups of numbers to 8 bits each, with one scale per group: the largest becomes 448."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import tilewright as tw
from tilewright import T

LARGEST = 448.0


@tw.jit
def cast_to_fp8(X, block_M=8, group=32, dtype="float32"):
    M, N = T.const("M, N")
    X: T.Tensor((M, N), dtype)
    X_fp8 = T.empty((M, N), T.float8_e4m3fn)
    scales = T.empty((M, T.ceildiv(N, group)), T.float32)

    with T.Kernel(T.ceildiv(M, block_M), T.ceildiv(N, group), threads=128) as (bx, by):
        x = T.alloc_fragment((block_M, group), dtype)
        largest = T.alloc_fragment((block_M,), dtype)
        scale = T.alloc_fragment((block_M,), T.float32)
        scaled = T.alloc_fragment((block_M, group), T.float8_e4m3fn)
        T.copy(X[bx * block_M : (bx + 1) * block_M, by * group : (by + 1) * group], x)
        T.reduce_absmax(x, largest, dim=1)
        for i in T.Parallel(block_M):
            scale[i] = T.max(largest[i], 1e-4) / LARGEST
        for i, j in T.Parallel(block_M, group):
            scaled[i, j] = T.clamp(x[i, j] / scale[i], -LARGEST, LARGEST)
        for i in T.Parallel(block_M):
            scales[bx * block_M + i, by] = scale[i]
        T.copy(scaled, X_fp8[bx * block_M : (bx + 1) * block_M, by * group : (by + 1) * group])
    return X_fp8, scales


def example(rng):
    """Values and scales, and what NumPy says: dividing and rounding once, in float32."""
    group = 32
    x = rng.standard_normal((20, 4 * group), dtype=np.float32)
    pieces = x.reshape(20, 4, group)
    scale = np.maximum(np.abs(pieces).max(axis=2), np.float32(1e-4)) / np.float32(LARGEST)
    scaled = np.clip(pieces / scale[:, :, None], -LARGEST, LARGEST)
    values, scales = cast_to_fp8(x, group=group)
    rounded = scaled.reshape(x.shape).astype(ml_dtypes.float8_e4m3fn)
    return (values.astype(np.float64), scales), (rounded.astype(np.float64), scale)


if __name__ == "__main__":
    results, references = example(np.random.default_rng(0))
    for name, result, expected in zip(("values", "scales"), results, references, strict=True):
        print(f"largest error, {name}:", np.abs(result - expected).max())
