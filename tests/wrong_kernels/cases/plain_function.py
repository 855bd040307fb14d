"""Calls a Python function that is not part of the kernel."""

import numpy as np

import tilewright as tw
from tilewright import tl


def square(x):
    return x * x


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    tl.store(out_ptr + offsets, square(tl.load(x_ptr + offsets)))


@tw.jit
def kernel_square(x):
    return x * x


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    tl.store(out_ptr + offsets, kernel_square(tl.load(x_ptr + offsets)))


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, x * x
