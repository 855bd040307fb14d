"""Vector addition: one program per block of elements, the last block masked."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def add_kernel(x_ptr, y_ptr, out_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside)
    y = tl.load(y_ptr + offsets, mask=inside)
    tl.store(out_ptr + offsets, x + y, mask=inside)


def add(x, y):
    out = np.empty_like(x)
    add_kernel[lambda meta: (tw.cdiv(x.size, meta["BLOCK"]),)](x, y, out, x.size, BLOCK=1024)
    return out


def example(rng):
    """The result and what NumPy says in float64."""
    x, y = rng.standard_normal((2, 98_432 + 7), dtype=np.float32)
    return add(x, y), x.astype(np.float64) + y.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
