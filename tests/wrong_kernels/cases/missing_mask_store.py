"""Stores a block that reaches over the end of an array."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * 2)


@tw.jit
def fixed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x * 2, mask=offsets < n)


def launch(kernel):
    x = np.arange(1000, dtype=np.float32)
    out = np.zeros(1000, np.float32)
    kernel[(tw.cdiv(1000, 128),)](x, out, 1000, BLOCK=128)
    return out, x * 2
