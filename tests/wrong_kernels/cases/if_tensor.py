"""Branches on a whole block."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    if x < 0:
        x = -x
    tl.store(out_ptr + offsets, x)


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    x = tl.where(x < 0, -x, x)
    tl.store(out_ptr + offsets, x)


def launch(kernel):
    x = np.arange(-8, 8, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, np.abs(x)
