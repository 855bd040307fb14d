"""States a rule about a value that is only known when the kernel runs."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(out_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(n <= BLOCK)
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, offsets, mask=offsets < n)


@tw.jit
def fixed(out_ptr, n, BLOCK: tl.constexpr):
    tl.device_assert(n <= BLOCK)
    offsets = tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, offsets, mask=offsets < n)


def launch(kernel):
    out = np.zeros(60, np.int32)
    kernel[(1,)](out, 60, BLOCK=64)
    return out, np.arange(60, dtype=np.int32)
