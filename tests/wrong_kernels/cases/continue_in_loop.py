"""Skips a turn of a loop with `continue`."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    total = 0.0
    for i in range(n):
        x = tl.load(x_ptr + i)
        if x < 0:
            continue
        total += x
    tl.store(out_ptr, total)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    total = 0.0
    for i in range(n):
        x = tl.load(x_ptr + i)
        if x >= 0:
            total += x
    tl.store(out_ptr, total)


def launch(kernel):
    x = np.array([1, 2, 3, -1, 5], np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out, 5)
    return out, np.array([11], np.float32)
