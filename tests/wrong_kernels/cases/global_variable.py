"""Uses a number of the module that is not a constant."""

import numpy as np

import tilewright as tw
from tilewright import tl

SCALE = 3


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * SCALE)


FIXED_SCALE = tl.constexpr(3)


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * FIXED_SCALE)


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, x * 3
