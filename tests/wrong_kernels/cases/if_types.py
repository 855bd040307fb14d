"""Gives a variable a float in one branch and an integer in the other."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    if n > 10:
        scale = tl.load(x_ptr)
    else:
        scale = 1
    tl.store(out_ptr, scale)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    if n > 10:
        scale = tl.load(x_ptr)
    else:
        scale = 1.0
    tl.store(out_ptr, scale)


def launch(kernel):
    x = np.full(1, 2.5, np.float32)
    out = np.zeros(2, np.float32)
    kernel[(1,)](x, out, 11)
    kernel[(1,)](x, out[1:], 9)
    return out, np.array([2.5, 1.0], np.float32)
