"""Makes a block whose size is only known when the kernel runs."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    offsets = tl.arange(0, n)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x)


@tw.jit
def fixed(x_ptr, out_ptr, n: tl.constexpr):
    offsets = tl.arange(0, n)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x)


def launch(kernel):
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    kernel[(1,)](x, out, 64)
    return out, x
