"""Passes every second column of an array to a kernel that takes rows for contiguous."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def double(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=inside) * 2, mask=inside)


def wrong(x, out):
    double[(2,)](x, out, x.size, BLOCK=32)


def fixed(x, out):
    double[(2,)](np.ascontiguousarray(x), out, x.size, BLOCK=32)


def launch(run):
    x = np.arange(8 * 16, dtype=np.float32).reshape(8, 16)[:, ::2]
    out = np.zeros((8, 8), np.float32)
    run(x, out)
    return out, x * 2
