"""Lets every program write the same element."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr, tl.max(x, axis=0))


@tw.jit
def fixed(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.atomic_max(out_ptr, tl.max(x, axis=0))


def launch(kernel):
    x = np.arange(64, dtype=np.int32) * 37 % 64
    out = np.zeros(1, np.int32)
    with tw.running(check_races=True):
        kernel[(4,)](x, out, BLOCK=16)
    return out, x.max(keepdims=True)
