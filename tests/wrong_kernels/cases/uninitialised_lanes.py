"""Takes the maximum over lanes that a masked load left undefined."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr, tl.max(x, axis=0))


@tw.jit
def fixed(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=-float("inf"))
    tl.store(out_ptr, tl.max(x, axis=0))


def launch(kernel):
    x = -np.arange(1, 61, dtype=np.float32)
    out = np.zeros(1, np.float32)
    kernel[(1,)](x, out, 60, BLOCK=64)
    return out, x.max(keepdims=True)
