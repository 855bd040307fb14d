"""Declares a constant twice."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(out_ptr, BIG: tl.constexpr):
    block: tl.constexpr = 16
    if BIG:
        block: tl.constexpr = 64
    offsets = tl.arange(0, block)
    tl.store(out_ptr + offsets, offsets)


@tw.jit
def fixed(out_ptr, BIG: tl.constexpr):
    block: tl.constexpr = 64 if BIG else 16
    offsets = tl.arange(0, block)
    tl.store(out_ptr + offsets, offsets)


def launch(kernel):
    out = np.zeros(64, np.int32)
    kernel[(1,)](out, BIG=True)
    return out, np.arange(64, dtype=np.int32)
