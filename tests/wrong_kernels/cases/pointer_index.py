"""Reads memory as C does: by an index into the pointer."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    tl.store(out_ptr, x_ptr[3])


@tw.jit
def fixed(x_ptr, out_ptr):
    tl.store(out_ptr, tl.load(x_ptr + 3))


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out)
    return out, x[3:4]
