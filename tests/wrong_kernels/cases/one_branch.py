"""Gives a variable a value in one branch only, and uses it behind the `if`."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    if n > 10:
        scale = tl.load(x_ptr)
    tl.store(out_ptr, scale * 2)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    scale = 1.0
    if n > 10:
        scale = tl.load(x_ptr)
    tl.store(out_ptr, scale * 2)


def launch(kernel):
    x = np.full(1, 2.5, np.float32)
    out = np.zeros(2, np.float32)
    kernel[(1,)](x, out, 11)
    kernel[(1,)](x, out[1:], 9)
    return out, np.array([5.0, 2.0], np.float32)
