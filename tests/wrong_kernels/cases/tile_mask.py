"""Masks the columns of a tile, but not its rows."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = i[:, None] * columns + j[None, :]
    x = tl.load(x_ptr + tile, mask=j[None, :] < columns)
    tl.store(out_ptr + tile, x, mask=(i[:, None] < rows) & (j[None, :] < columns))


@tw.jit
def fixed(x_ptr, out_ptr, rows, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    tile = i[:, None] * columns + j[None, :]
    x = tl.load(x_ptr + tile, mask=(i[:, None] < rows) & (j[None, :] < columns))
    tl.store(out_ptr + tile, x, mask=(i[:, None] < rows) & (j[None, :] < columns))


def launch(kernel):
    x = np.arange(20 * 40, dtype=np.float32).reshape(20, 40)
    out = np.zeros((20, 40), np.float32)
    kernel[(2, 3)](x, out, 20, 40, BLOCK=16)
    return out, x
