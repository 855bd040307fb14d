"""Leaves the mask out in a helper, which fails when the kernel runs."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def read(x_ptr, offsets, n):
    return tl.load(x_ptr + offsets)


@tw.jit
def read_masked(x_ptr, offsets, n):
    return tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)


@tw.jit
def wrong(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(read(x_ptr, offsets, n), axis=0))


@tw.jit
def fixed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr, tl.sum(read_masked(x_ptr, offsets, n), axis=0))


def launch(kernel):
    x = np.arange(60, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out, 60, BLOCK=64)
    return out, x.sum(keepdims=True)
