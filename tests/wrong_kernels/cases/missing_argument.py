"""Forgets an argument in the launch."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def copy(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def wrong(x, out):
    copy[(4,)](x, out, BLOCK=16)


def fixed(x, out):
    copy[(4,)](x, out, x.size, BLOCK=16)


def launch(run):
    x = np.arange(60, dtype=np.float32)
    out = np.zeros(60, np.float32)
    run(x, out)
    return out, x
