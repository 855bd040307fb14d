"""Gives the bounds of a block the wrong way round."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(BLOCK, 0)
    tl.store(out_ptr + offsets, offsets)


@tw.jit
def fixed(out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, offsets)


def launch(kernel):
    out = np.zeros(64, np.int32)
    kernel[(1,)](out, BLOCK=64)
    return out, np.arange(64, dtype=np.int32)
