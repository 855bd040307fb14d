"""A kernel of `tl`: one scaled array."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.autotune([tw.Config({"BLOCK": 32}), tw.Config({"BLOCK": 64})], key=["n"])
@tw.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) * 2, mask=inside)


x = np.ones(100, np.float32)
out = np.zeros_like(x)
scale[lambda meta: (tw.cdiv(100, meta["BLOCK"]),)](x, out, 100)
