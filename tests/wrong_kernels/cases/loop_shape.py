"""Starts a sum of blocks with a number."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    offsets = tl.arange(0, 16)
    total = 0.0
    for i in range(n):
        total += tl.load(x_ptr + i * 16 + offsets)
    tl.store(out_ptr + offsets, total)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    offsets = tl.arange(0, 16)
    total = tl.zeros((16,), tl.float32)
    for i in range(n):
        total += tl.load(x_ptr + i * 16 + offsets)
    tl.store(out_ptr + offsets, total)


def launch(kernel):
    x = np.arange(5 * 16, dtype=np.float32).reshape(5, 16)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out, 5)
    return out, x.sum(axis=0)
