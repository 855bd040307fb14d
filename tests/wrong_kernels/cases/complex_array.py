"""Passes an array of complex numbers."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def double(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(x_ptr + offsets, x * 2, mask=offsets < n)


def wrong(x):
    double[(1,)](x, x.size, BLOCK=32)


def fixed(x):
    double[(1,)](x.view(np.float32), 2 * x.size, BLOCK=32)


def launch(run):
    x = np.arange(16).astype(np.complex64) * (1 + 2j)
    expected = x * 2
    run(x)
    return x, expected
