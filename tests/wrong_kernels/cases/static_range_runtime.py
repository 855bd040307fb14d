"""Unrolls a loop whose number of turns is only known when the kernel runs."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n):
    total = 0.0
    for i in tl.static_range(n):
        total += tl.load(x_ptr + i)
    tl.store(out_ptr, total)


@tw.jit
def fixed(x_ptr, out_ptr, n):
    total = 0.0
    for i in range(n):
        total += tl.load(x_ptr + i)
    tl.store(out_ptr, total)


def launch(kernel):
    x = np.arange(5, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out, 5)
    return out, x.sum(keepdims=True)
