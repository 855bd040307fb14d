"""Stores a block of 64 values through 16 pointers."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + tl.arange(0, 16), x)


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + tl.arange(0, 16), tl.sum(x.reshape(16, 4), axis=1))


def launch(kernel):
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, x.reshape(16, 4).sum(axis=1)
