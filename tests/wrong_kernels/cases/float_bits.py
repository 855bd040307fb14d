"""Uses a bit operation on floats."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x & 0x7FFFFFFF)


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    bits = x.to(tl.int32, bitcast=True) & 0x7FFFFFFF
    tl.store(out_ptr + offsets, bits.to(tl.float32, bitcast=True))


def launch(kernel):
    x = np.arange(-32, 32, dtype=np.float32)
    out = np.zeros(64, np.float32)
    kernel[(1,)](x, out)
    return out, np.abs(x)
