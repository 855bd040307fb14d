"""The kernel of `tl` as it is written for Triton."""

import numpy as np
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": 32}), triton.Config({"BLOCK": 64})], key=["n"])
@triton.jit
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) * 2, mask=inside)


x = np.ones(100, np.float32)
out = np.zeros_like(x)
scale[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](x, out, 100)
