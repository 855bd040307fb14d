"""Leaves a loop with `break`."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    total = 0.0
    for i in range(n):
        x = tl.load(x_ptr + i)
        if x < 0:
            break
        total += x
    tl.store(out_ptr, total)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    total = 0.0
    i = 0
    x = tl.load(x_ptr)
    while (i < n) & (x >= 0):
        total += x
        i += 1
        x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(out_ptr, total)


def launch(kernel):
    x = np.array([1, 2, 3, -1, 5], np.float32)
    out = np.zeros(2, np.float32)
    kernel[(1,)](x, out, 5)
    kernel[(1,)](x[:3].copy(), out[1:], 3)
    return out, np.array([6, 6], np.float32)
