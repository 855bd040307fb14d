"""Asks for a parameter in the grid by a name that the kernel does not have."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def copy(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x, mask=offsets < n)


def wrong(x, out):
    copy[lambda meta: (tw.cdiv(x.size, meta["BLOCK"]),)](x, out, x.size, BLOCK_SIZE=16)


def fixed(x, out):
    copy[lambda meta: (tw.cdiv(x.size, meta["BLOCK_SIZE"]),)](x, out, x.size, BLOCK_SIZE=16)


def launch(run):
    x = np.arange(60, dtype=np.float32)
    out = np.zeros(60, np.float32)
    run(x, out)
    return out, x
