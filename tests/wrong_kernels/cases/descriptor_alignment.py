"""Describes a tensor whose rows begin at addresses the copy engine cannot take."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def total(x, out_ptr):
    tile = x.load([0, 0])
    tl.store(out_ptr, tl.sum(tile))


def wrong(x, out):
    total[(1,)](tw.TensorDescriptor(x, x.shape, (x.shape[1], 1), [8, 16]), out)


def fixed(x, out):
    padded = np.zeros((8, 12), np.float32)
    padded[:, :10] = x
    total[(1,)](tw.TensorDescriptor(padded, x.shape, (12, 1), [8, 16]), out)


def launch(run):
    x = np.arange(80, dtype=np.float32).reshape(8, 10)
    out = np.zeros(1, np.float32)
    run(x, out)
    return out, x.sum().reshape(1)
