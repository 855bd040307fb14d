"""Uses a variable of the function around the kernel."""

import numpy as np

import tilewright as tw
from tilewright import tl


def make_wrong(scale):
    @tw.jit
    def scaled(x_ptr, out_ptr):
        offsets = tl.arange(0, 16)
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * scale)

    return scaled


def make_fixed(scale):
    scale = tl.constexpr(scale)

    @tw.jit
    def scaled(x_ptr, out_ptr):
        offsets = tl.arange(0, 16)
        tl.store(out_ptr + offsets, tl.load(x_ptr + offsets) * scale)

    return scaled


wrong = make_wrong(3)
fixed = make_fixed(3)


def launch(kernel):
    x = np.arange(16, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel[(1,)](x, out)
    return out, x * 3
