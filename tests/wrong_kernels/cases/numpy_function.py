"""Calls a function of NumPy on a block."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, np.sqrt(x))


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.sqrt(x))


def launch(kernel):
    x = np.arange(16, dtype=np.float32) ** 2
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, np.arange(16, dtype=np.float32)
