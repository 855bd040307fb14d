"""Compares with `<=` in a mask."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets <= n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


@tw.jit
def fixed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def launch(kernel):
    x = np.arange(60, dtype=np.float32)
    out = np.zeros(60, np.float32)
    kernel[(1,)](x, out, 60, BLOCK=64)
    return out, x
