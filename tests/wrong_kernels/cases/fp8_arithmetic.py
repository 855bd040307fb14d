"""Scales 8-bit floats by an integer without widening them."""

import ml_dtypes
import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, scale_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    scale = tl.load(scale_ptr + offsets)
    tl.store(out_ptr + offsets, x * scale)


@tw.jit
def fixed(x_ptr, scale_ptr, out_ptr):
    offsets = tl.arange(0, 64)
    x = tl.load(x_ptr + offsets)
    scale = tl.load(scale_ptr + offsets)
    tl.store(out_ptr + offsets, x.to(tl.float32) * scale)


def launch(kernel):
    x = (np.arange(64) % 4).astype(ml_dtypes.float8_e4m3fn)
    scale = np.arange(64, dtype=np.int32)
    out = np.zeros(64, np.float32)
    kernel[(1,)](x, scale, out)
    return out, x.astype(np.float32) * scale
