"""Asks for the index of the maximum of a tile without saying along which axis."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    rows = tl.arange(0, 8)
    columns = tl.arange(0, 16)
    x = tl.load(x_ptr + rows[:, None] * 16 + columns[None, :])
    tl.store(out_ptr + rows, tl.argmax(x))


@tw.jit
def fixed(x_ptr, out_ptr):
    rows = tl.arange(0, 8)
    columns = tl.arange(0, 16)
    x = tl.load(x_ptr + rows[:, None] * 16 + columns[None, :])
    tl.store(out_ptr + rows, tl.argmax(x, axis=1))


def launch(kernel):
    x = (np.arange(128, dtype=np.float32) * 37 % 101).reshape(8, 16)
    out = np.zeros(8, np.int32)
    kernel[(1,)](x, out)
    return out, x.argmax(axis=1)
