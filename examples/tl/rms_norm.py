"""Root-mean-square normalisation of rows in bfloat16, computed in float32."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, stride, N, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < N
    x = tl.load(x_ptr + row * stride + columns, mask=inside, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + columns, mask=inside, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / N + eps)
    out = (x * scale * weight).to(out_ptr.dtype.element_ty)
    tl.store(out_ptr + row * stride + columns, out, mask=inside)


def rms_norm(x, weight, eps=1e-6):
    rows, N = x.shape
    out = np.empty_like(x)
    rms_norm_kernel[(rows,)](x, weight, out, N, N, eps, BLOCK=tw.next_power_of_2(N))
    return out


def example(rng):
    """The result and what NumPy says in float64."""
    x = rng.standard_normal((70, 517)).astype(ml_dtypes.bfloat16)
    weight = rng.standard_normal(517).astype(ml_dtypes.bfloat16)
    exact = x.astype(np.float64)
    scale = 1 / np.sqrt((exact**2).mean(axis=1, keepdims=True) + 1e-6)
    return rms_norm(x, weight), exact * scale * weight.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result.astype(np.float64) - expected).max())
