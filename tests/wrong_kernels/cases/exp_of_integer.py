"""Takes the exponential of integers."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.exp2(x))


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, tl.exp2(x.to(tl.float32)))


def launch(kernel):
    x = np.arange(16, dtype=np.int32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, np.exp2(x.astype(np.float32))
