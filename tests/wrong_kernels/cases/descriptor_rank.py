"""Loads from a descriptor of a matrix with one offset."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x, out_ptr):
    tile = x.load([0])
    tl.store(out_ptr, tl.sum(tile))


@tw.jit
def fixed(x, out_ptr):
    tile = x.load([0, 0])
    tl.store(out_ptr, tl.sum(tile))


def launch(kernel):
    x = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)
    out = np.zeros(1, np.float32)
    kernel[(1,)](tw.TensorDescriptor.from_tensor(x, [8, 16]), out)
    return out, x.sum().reshape(1)
