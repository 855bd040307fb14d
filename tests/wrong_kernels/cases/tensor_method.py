"""Takes a method of NumPy's arrays for one of the language."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x.astype(tl.int32))


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x.to(tl.int32))


def launch(kernel):
    x = np.arange(16, dtype=np.float32) + 0.5
    out = np.zeros(16, np.int32)
    kernel[(1,)](x, out)
    return out, np.arange(16, dtype=np.int32)
