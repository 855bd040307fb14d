"""Misspells a function of the language."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr, tl.summ(x, axis=0))


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr, tl.sum(x, axis=0))


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out)
    return out, x.sum(keepdims=True)
