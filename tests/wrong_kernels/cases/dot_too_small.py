"""Uses a matrix product for blocks that tensor cores have no instruction for."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    index = tl.arange(0, N)
    tile = index[:, None] * N + index[None, :]
    a = tl.load(a_ptr + tile)
    b = tl.load(b_ptr + tile)
    tl.store(out_ptr + tile, tl.dot(a, b))


@tw.jit
def fixed(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    index = tl.arange(0, N)
    tile = index[:, None] * N + index[None, :]
    a = tl.load(a_ptr + tile)
    b = tl.load(b_ptr + tile)
    tl.store(out_ptr + tile, tl.sum(a[:, :, None] * b[None, :, :], axis=1))


def launch(kernel):
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    out = np.zeros((4, 4), np.float32)
    kernel[(1,)](a, a, out, N=4)
    return out, a @ a
