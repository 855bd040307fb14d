"""Forgets to load: multiplies the pointer itself."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    doubled = (x_ptr + offsets) * 2
    tl.store(out_ptr + offsets, doubled)


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    doubled = tl.load(x_ptr + offsets) * 2
    tl.store(out_ptr + offsets, doubled)


def launch(kernel):
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    kernel[(1,)](x, out)
    return out, x * 2
