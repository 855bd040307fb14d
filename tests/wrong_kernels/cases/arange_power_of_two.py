"""Makes a block of 100 elements."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, N)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x)


@tw.jit
def fixed(x_ptr, out_ptr, N: tl.constexpr):
    offsets = tl.arange(0, tw.next_power_of_2(N))
    x = tl.load(x_ptr + offsets, mask=offsets < N)
    tl.store(out_ptr + offsets, x, mask=offsets < N)


def launch(kernel):
    x = np.arange(100, dtype=np.float32)
    out = np.zeros(100, np.float32)
    kernel[(1,)](x, out, N=100)
    return out, x
