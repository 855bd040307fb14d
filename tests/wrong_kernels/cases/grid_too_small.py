"""Rounds down where the last, incomplete block needs a program too."""

import warnings

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * 2, mask=offsets < n)


def wrong(x, out):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        double[(x.size // 128,)](x, out, x.size, BLOCK=128)


def fixed(x, out):
    double[(tw.cdiv(x.size, 128),)](x, out, x.size, BLOCK=128)


def launch(run):
    x = np.arange(1000, dtype=np.float32)
    out = tw.empty(1000, np.float32)
    run(x, out)
    return out, x * 2
