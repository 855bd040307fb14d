"""Misspells an argument of a function of the language."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets, mask=offsets < n, others=0.0)
    tl.store(out_ptr + offsets, x)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(out_ptr + offsets, x)


def launch(kernel):
    x = np.arange(1, 11, dtype=np.float32)
    out = np.ones(16, np.float32)
    kernel[(1,)](x, out, 10)
    return out, np.concatenate([x, np.zeros(6, np.float32)])
