"""Adds a block of 64 elements and one of 32."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, y_ptr, out_ptr):
    rows = tl.arange(0, 64)
    columns = tl.arange(0, 32)
    x = tl.load(x_ptr + rows)
    y = tl.load(y_ptr + columns)
    tl.store(out_ptr + rows[:, None] * 32 + columns[None, :], x + y)


@tw.jit
def fixed(x_ptr, y_ptr, out_ptr):
    rows = tl.arange(0, 64)
    columns = tl.arange(0, 32)
    x = tl.load(x_ptr + rows)
    y = tl.load(y_ptr + columns)
    tl.store(out_ptr + rows[:, None] * 32 + columns[None, :], x[:, None] + y[None, :])


def launch(kernel):
    x = np.arange(64, dtype=np.float32)
    y = np.arange(32, dtype=np.float32)
    out = np.zeros((64, 32), np.float32)
    kernel[(1,)](x, y, out)
    return out, x[:, None] + y[None, :]
