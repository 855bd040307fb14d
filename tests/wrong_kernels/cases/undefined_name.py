"""Misspells a variable."""

# ruff: noqa: F821
import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offset)
    tl.store(out_ptr + offsets, x)


@tw.jit
def fixed(x_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x)


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, x
