"""Loads from the number of elements: two arguments of the launch are the wrong way round."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def wrong(x, out):
    copy[(1,)](x.size, out, x, BLOCK=64)


def fixed(x, out):
    copy[(1,)](x, out, x.size, BLOCK=64)


def launch(run):
    x = np.arange(60, dtype=np.float32)
    out = np.zeros(60, np.float32)
    run(x, out)
    return out, x
