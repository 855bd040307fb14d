"""Stores through a pointer that was declared read-only."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr: tl.const, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(x_ptr + offsets, x * 2)


@tw.jit
def fixed(x_ptr: tl.const, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x * 2)


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, x * 2
