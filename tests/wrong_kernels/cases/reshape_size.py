"""Reshapes 64 elements into a tile of 128."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tile = tl.reshape(x, (8, 16))
    tl.store(out_ptr + tl.arange(0, 8), tl.sum(tile, axis=1))


@tw.jit
def fixed(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 64))
    tile = tl.reshape(x, (8, 8))
    tl.store(out_ptr + tl.arange(0, 8), tl.sum(tile, axis=1))


def launch(kernel):
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(8, np.float32)
    kernel[(1,)](x, out)
    return out, x.reshape(8, 8).sum(axis=1)
