"""Gives a block pointer a mask."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    x = tl.load(block, mask=tl.arange(0, BLOCK) < n, other=0.0)
    tl.store(out_ptr, tl.sum(x, axis=0))


@tw.jit
def fixed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    block = tl.make_block_ptr(x_ptr, (n,), (1,), (0,), (BLOCK,), (0,))
    x = tl.load(block, boundary_check=(0,), padding_option="zero")
    tl.store(out_ptr, tl.sum(x, axis=0))


def launch(kernel):
    x = np.arange(60, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out, 60, BLOCK=64)
    return out, x.sum(keepdims=True)
