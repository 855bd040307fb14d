"""Masks a tile with a condition on its rows only, as a block of another shape."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    rows = tl.arange(0, 32)
    columns = tl.arange(0, 64)
    tile = rows[:, None] * 64 + columns[None, :]
    x = tl.load(x_ptr + tile, mask=rows < n, other=0.0)
    tl.store(out_ptr + tile, x)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    rows = tl.arange(0, 32)
    columns = tl.arange(0, 64)
    tile = rows[:, None] * 64 + columns[None, :]
    x = tl.load(x_ptr + tile, mask=rows[:, None] < n, other=0.0)
    tl.store(out_ptr + tile, x)


def launch(kernel):
    x = np.arange(20 * 64, dtype=np.float32).reshape(20, 64)
    out = np.ones((32, 64), np.float32)
    kernel[(1,)](x, out, 20)
    return out, np.concatenate([x, np.zeros((12, 64), np.float32)])
