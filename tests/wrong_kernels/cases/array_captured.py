"""Uses an array of the module instead of a parameter."""

import numpy as np

import tilewright as tw
from tilewright import tl

TABLE = np.arange(16, dtype=np.float32) * 10


@tw.jit
def wrong(index_ptr, out_ptr):
    offsets = tl.arange(0, 16)
    index = tl.load(index_ptr + offsets)
    tl.store(out_ptr + offsets, tl.load(TABLE + index))


@tw.jit
def fixed(index_ptr, out_ptr, table_ptr):
    offsets = tl.arange(0, 16)
    index = tl.load(index_ptr + offsets)
    tl.store(out_ptr + offsets, tl.load(table_ptr + index))


def launch(kernel):
    index = np.arange(16, dtype=np.int32)[::-1].copy()
    out = np.zeros(16, np.float32)
    if kernel is wrong:
        kernel[(1,)](index, out)
    else:
        kernel[(1,)](index, out, TABLE)
    return out, TABLE[::-1]
