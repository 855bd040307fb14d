"""Reads the left neighbour of the first element."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    left = tl.load(x_ptr + offsets - 1, mask=inside, other=0.0)
    tl.store(out_ptr + offsets, x - left, mask=inside)


@tw.jit
def fixed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    x = tl.load(x_ptr + offsets, mask=inside, other=0.0)
    left = tl.load(x_ptr + offsets - 1, mask=inside & (offsets > 0), other=0.0)
    tl.store(out_ptr + offsets, x - left, mask=inside)


def launch(kernel):
    x = np.arange(60, dtype=np.float32) ** 2
    out = np.zeros(60, np.float32)
    kernel[(2,)](x, out, 60, BLOCK=32)
    return out, np.diff(x, prepend=np.float32(0))
