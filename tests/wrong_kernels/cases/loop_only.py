"""Uses a variable behind the loop that only its body assigns."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    for i in range(n):
        last = tl.load(x_ptr + i)
    tl.store(out_ptr, last)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    last = 0.0
    for i in range(n):
        last = tl.load(x_ptr + i)
    tl.store(out_ptr, last)


def launch(kernel):
    x = np.arange(5, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out, 5)
    return out, x[4:]
