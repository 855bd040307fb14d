"""Masks the load of a row, and forgets the mask of the store."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    x = tl.load(x_ptr + row + offsets, mask=offsets < columns, other=0)
    tl.store(out_ptr + row + offsets, x + 1)


@tw.jit
def fixed(x_ptr, out_ptr, columns, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    row = tl.program_id(0) * columns
    x = tl.load(x_ptr + row + offsets, mask=offsets < columns, other=0)
    tl.store(out_ptr + row + offsets, x + 1, mask=offsets < columns)


def launch(kernel):
    x = np.arange(30, dtype=np.int32).reshape(6, 5)
    out = np.zeros_like(x)
    with tw.running(check_races=True):
        kernel[(6,)](x, out, 5, BLOCK=8)
    return out, x + 1
