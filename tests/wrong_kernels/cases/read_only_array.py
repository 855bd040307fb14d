"""Stores to an array that NumPy says must not be written."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def double(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) * 2)


def wrong(x):
    double[(1,)](x, BLOCK=16)
    return x


def fixed(x):
    x = x.copy()
    double[(1,)](x, BLOCK=16)
    return x


def launch(run):
    x = np.arange(16, dtype=np.float32)
    x.flags.writeable = False
    return run(x), x * 2
