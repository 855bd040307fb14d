"""Multiplies a tile of halves by a tile of floats."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(a_ptr, b_ptr, out_ptr):
    index = tl.arange(0, 32)
    tile = index[:, None] * 32 + index[None, :]
    a = tl.load(a_ptr + tile)
    b = tl.load(b_ptr + tile)
    tl.store(out_ptr + tile, tl.dot(a, b))


@tw.jit
def fixed(a_ptr, b_ptr, out_ptr):
    index = tl.arange(0, 32)
    tile = index[:, None] * 32 + index[None, :]
    a = tl.load(a_ptr + tile)
    b = tl.load(b_ptr + tile)
    tl.store(out_ptr + tile, tl.dot(a.to(tl.float32), b))


def launch(kernel):
    a = (np.arange(32 * 32).reshape(32, 32) % 9).astype(np.float16)
    b = (np.arange(32 * 32).reshape(32, 32) % 7).astype(np.float32)
    out = np.zeros((32, 32), np.float32)
    kernel[(1,)](a, b, out)
    return out, a.astype(np.float32) @ b
