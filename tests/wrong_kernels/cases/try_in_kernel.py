"""Expects an exception from a division."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, y_ptr, out_ptr):
    x = tl.load(x_ptr)
    y = tl.load(y_ptr)
    try:
        result = x // y
    except ZeroDivisionError:
        result = 0
    tl.store(out_ptr, result)


@tw.jit
def fixed(x_ptr, y_ptr, out_ptr):
    x = tl.load(x_ptr)
    y = tl.load(y_ptr)
    result = 0
    if y != 0:
        result = x // y
    tl.store(out_ptr, result)


def launch(kernel):
    x = np.array([7], np.int32)
    out = np.ones(2, np.int32)
    kernel[(1,)](x, np.array([2], np.int32), out)
    kernel[(1,)](x, np.array([0], np.int32), out[1:])
    return out, np.array([3, 0], np.int32)
