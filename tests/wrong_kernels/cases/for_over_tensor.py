"""Iterates over the elements of a block."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    total = 0.0
    for value in x:
        total += value
    tl.store(out_ptr, total)


@tw.jit
def fixed(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(out_ptr, tl.sum(x, axis=0))


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out)
    return out, x.sum(keepdims=True)
