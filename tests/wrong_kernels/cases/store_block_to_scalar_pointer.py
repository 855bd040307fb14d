"""Forgets to add the offsets to the pointer of a store."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr, x * 2)


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x * 2)


def launch(kernel):
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    kernel[(1,)](x, out)
    return out, x * 2
