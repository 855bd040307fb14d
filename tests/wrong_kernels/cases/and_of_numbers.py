"""Combines numbers, not conditions, with `and`."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, y_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, tl.where(x and y, 1, 0))


@tw.jit
def fixed(x_ptr, y_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, tl.where((x != 0) & (y != 0), 1, 0))


def launch(kernel):
    x = np.arange(16, dtype=np.int32) % 2
    y = np.arange(16, dtype=np.int32) % 3
    out = np.zeros(16, np.int32)
    kernel[(1,)](x, y, out)
    return out, ((x != 0) & (y != 0)).astype(np.int32)
