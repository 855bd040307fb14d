"""Divides an unsigned number by a signed one."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, y_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x // y)


@tw.jit
def fixed(x_ptr, y_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    y = tl.load(y_ptr + offsets)
    tl.store(out_ptr + offsets, x.to(tl.int32) // y)


def launch(kernel):
    x = np.arange(16, dtype=np.uint32) * 9
    y = np.arange(16, dtype=np.int32) + 1
    out = np.zeros(16, np.int32)
    kernel[(1,)](x, y, out)
    return out, x.astype(np.int32) // y
