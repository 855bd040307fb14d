"""Chooses between a float and an integer with a conditional expression."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    scale = tl.load(x_ptr) if n > 10 else 1
    tl.store(out_ptr, scale)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    scale = tl.load(x_ptr) if n > 10 else 1.0
    tl.store(out_ptr, scale)


def launch(kernel):
    x = np.full(1, 2.5, np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out, 9)
    return out, np.ones(1, np.float32)
