"""Passes a block of the wrong shape to a helper; the mistake shows inside of it."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def normalised(x, weights):
    total = tl.sum(x, axis=0)
    return x / total * weights


@tw.jit
def wrong(x_ptr, w_ptr, out_ptr):
    offsets = tl.arange(0, 32)
    x = tl.load(x_ptr + offsets)
    weights = tl.load(w_ptr + tl.arange(0, 16))
    tl.store(out_ptr + offsets, normalised(x, weights))


@tw.jit
def fixed(x_ptr, w_ptr, out_ptr):
    offsets = tl.arange(0, 32)
    x = tl.load(x_ptr + offsets)
    weights = tl.load(w_ptr + offsets)
    tl.store(out_ptr + offsets, normalised(x, weights))


def launch(kernel):
    x = np.full(32, 0.5, np.float32)
    weights = np.arange(32, dtype=np.float32)
    out = np.zeros(32, np.float32)
    kernel[(1,)](x, weights, out)
    return out, weights / 32
