"""Computes a block size in a plain variable, which makes it a run-time value."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, BLOCK: tl.constexpr):
    half = BLOCK // 2
    offsets = tl.arange(0, half)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


@tw.jit
def fixed(x_ptr, out_ptr, BLOCK: tl.constexpr):
    half: tl.constexpr = BLOCK // 2
    offsets = tl.arange(0, half)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


def launch(kernel):
    x = np.arange(32, dtype=np.float32)
    out = np.zeros(32, np.float32)
    kernel[(1,)](x, out, BLOCK=64)
    return out, x
