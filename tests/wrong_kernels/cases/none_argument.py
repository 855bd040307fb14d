"""Loads from an argument that is None."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, bias_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    bias = tl.load(bias_ptr + offsets)
    tl.store(out_ptr + offsets, x + bias)


@tw.jit
def fixed(x_ptr, bias_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    if bias_ptr is not None:
        x += tl.load(bias_ptr + offsets)
    tl.store(out_ptr + offsets, x)


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, None, out)
    return out, x
