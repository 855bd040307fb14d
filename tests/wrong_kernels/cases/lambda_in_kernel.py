"""Defines a small function inside the kernel."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(out_ptr, tl.reduce(x, 0, lambda a, b: a * b))


@tw.jit
def product(a, b):
    return a * b


@tw.jit
def fixed(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(out_ptr, tl.reduce(x, 0, product))


def launch(kernel):
    x = (np.arange(16, dtype=np.float32) % 2) + 1
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out)
    return out, np.array([2.0**8], np.float32)
