"""Makes an accumulator whose shape is only known when the kernel runs."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((n,), dtype=tl.float32)
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)


@tw.jit
def fixed(out_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)


def launch(kernel):
    out = np.ones(64, np.float32)
    kernel[(1,)](out, 64, BLOCK=64)
    return out, np.zeros(64, np.float32)
