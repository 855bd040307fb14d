"""Divides by a constant of the launch that is zero."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def sums(x_ptr, out_ptr, N: tl.constexpr, SPLITS: tl.constexpr):
    block: tl.constexpr = N // SPLITS
    offsets = tl.program_id(0) * block + tl.arange(0, block)
    tl.store(out_ptr + tl.program_id(0), tl.sum(tl.load(x_ptr + offsets), axis=0))


def wrong(x, out):
    sums[(4,)](x, out, N=64, SPLITS=0)


def fixed(x, out):
    sums[(4,)](x, out, N=64, SPLITS=4)


def launch(run):
    x = np.arange(64, dtype=np.float32)
    out = np.zeros(4, np.float32)
    run(x, out)
    return out, x.reshape(4, 16).sum(axis=1)
