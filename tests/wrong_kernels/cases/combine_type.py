"""Reduces with a function that returns another type than it takes."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong_combine(a, b):
    return (a > 0) | (b > 0)


@tw.jit
def combine(a, b):
    return a | b


@tw.jit
def wrong(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(out_ptr, tl.reduce(x, 0, wrong_combine))


@tw.jit
def fixed(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(out_ptr, tl.reduce(x > 0, 0, combine))


def launch(kernel):
    x = np.arange(-15, 1, dtype=np.int32) + 1
    out = np.zeros(1, np.int32)
    kernel[(1,)](x, out)
    return out, np.ones(1, np.int32)
