"""Multiplies by a mask, which is a block of truth values."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(a_ptr, out_ptr):
    index = tl.arange(0, 32)
    tile = index[:, None] * 32 + index[None, :]
    a = tl.load(a_ptr + tile)
    lower = index[:, None] >= index[None, :]
    tl.store(out_ptr + tile, tl.dot(lower, a))


@tw.jit
def fixed(a_ptr, out_ptr):
    index = tl.arange(0, 32)
    tile = index[:, None] * 32 + index[None, :]
    a = tl.load(a_ptr + tile)
    lower = index[:, None] >= index[None, :]
    tl.store(out_ptr + tile, tl.dot(lower.to(tl.float32), a))


def launch(kernel):
    a = np.arange(32 * 32, dtype=np.float32).reshape(32, 32) % 9
    out = np.zeros((32, 32), np.float32)
    kernel[(1,)](a, out)
    return out, np.cumsum(a, axis=0)
