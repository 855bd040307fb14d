"""Reads 32-bit words from a byte that is no multiple of four."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(bytes_ptr, out_ptr, skip):
    words = (bytes_ptr + skip).to(tl.pointer_type(tl.int32))
    offsets = tl.arange(0, 4)
    tl.store(out_ptr + offsets, tl.load(words + offsets))


@tw.jit
def fixed(bytes_ptr, out_ptr, skip):
    offsets = tl.arange(0, 4)
    word = tl.zeros((4,), tl.int32)
    for byte in tl.static_range(4):
        part = tl.load(bytes_ptr + skip + offsets * 4 + byte).to(tl.int32)
        word |= part << (8 * byte)
    tl.store(out_ptr + offsets, word)


def launch(kernel):
    data = np.arange(32, dtype=np.uint8)
    out = np.zeros(4, np.int32)
    kernel[(1,)](data, out, 2)
    return out, data[2:18].copy().view(np.int32)
