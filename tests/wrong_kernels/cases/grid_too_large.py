"""Launches one program for every element instead of one for every block."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def double(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * 2)


def wrong(x, out):
    double[(x.size,)](x, out, BLOCK=64)


def fixed(x, out):
    double[(tw.cdiv(x.size, 64),)](x, out, BLOCK=64)


def launch(run):
    x = np.arange(256, dtype=np.float32)
    out = np.zeros(256, np.float32)
    run(x, out)
    return out, x * 2
