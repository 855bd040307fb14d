"""Reads one element of a block by its index."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(out_ptr, x[0])


@tw.jit
def fixed(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr))


def launch(kernel):
    x = np.arange(7, 23, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out)
    return out, x[:1]
