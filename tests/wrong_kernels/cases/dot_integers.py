"""Multiplies matrices of 32-bit integers, which tensor cores do not take."""

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
    a = tl.load(a_ptr + tile).to(tl.int8)
    b = tl.load(b_ptr + tile).to(tl.int8)
    tl.store(out_ptr + tile, tl.dot(a, b))


def launch(kernel):
    a = np.arange(32 * 32, dtype=np.int32).reshape(32, 32) % 5
    b = np.arange(32 * 32, dtype=np.int32).reshape(32, 32) % 3
    out = np.zeros((32, 32), np.int32)
    kernel[(1,)](a, b, out)
    return out, a @ b
