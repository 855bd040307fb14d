"""Counts in a variable that was declared to be known when the kernel is compiled."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    seen: tl.constexpr = 0
    for i in range(n):
        if tl.load(x_ptr + i) > 0:
            seen += 1
    tl.store(out_ptr, seen)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    seen = 0
    for i in range(n):
        if tl.load(x_ptr + i) > 0:
            seen += 1
    tl.store(out_ptr, seen)


def launch(kernel):
    x = np.arange(-2, 5, dtype=np.float32)
    out = np.zeros(1, np.int32)
    kernel[(1,)](x, out, 7)
    return out, np.array([4], np.int32)
