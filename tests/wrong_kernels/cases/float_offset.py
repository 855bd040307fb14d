"""Adds a floating-point number to a pointer: `/` is not `//`."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    middle = tl.load(x_ptr + n / 2)
    tl.store(out_ptr, middle)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    middle = tl.load(x_ptr + n // 2)
    tl.store(out_ptr, middle)


def launch(kernel):
    x = np.arange(9, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out, 9)
    return out, x[4:5]
