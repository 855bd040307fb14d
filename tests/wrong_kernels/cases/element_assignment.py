"""Assigns one element of a block."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    x[0] = 1.0
    tl.store(out_ptr + offsets, x)


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    x = tl.where(offsets == 0, 1.0, x)
    tl.store(out_ptr + offsets, x)


def launch(kernel):
    x = np.arange(7, 23, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, np.concatenate([np.ones(1, np.float32), x[1:]])
