"""Calls a function of the kernel with too few arguments."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def scaled(x, scale):
    return x * scale


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    tl.store(out_ptr + offsets, scaled(tl.load(x_ptr + offsets)))


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    tl.store(out_ptr + offsets, scaled(tl.load(x_ptr + offsets), 3.0))


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, x * 3
