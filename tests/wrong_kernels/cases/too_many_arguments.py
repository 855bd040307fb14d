"""Passes the block size by position and by name."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def copy(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets))


def wrong(x, out):
    copy[(4,)](x, out, x.size, BLOCK=16)


def fixed(x, out):
    copy[(4,)](x, out, BLOCK=16)


def launch(run):
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(64, np.float32)
    run(x, out)
    return out, x
