"""Accumulates a product of floats in a block of halves."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(a_ptr, out_ptr, K: tl.constexpr):
    index = tl.arange(0, 32)
    tile = index[:, None] * 32 + index[None, :]
    acc = tl.zeros((32, 32), dtype=tl.float16)
    for _ in range(K):
        a = tl.load(a_ptr + tile)
        acc = tl.dot(a, a, acc)
    tl.store(out_ptr + tile, acc)


@tw.jit
def fixed(a_ptr, out_ptr, K: tl.constexpr):
    index = tl.arange(0, 32)
    tile = index[:, None] * 32 + index[None, :]
    acc = tl.zeros((32, 32), dtype=tl.float32)
    for _ in range(K):
        a = tl.load(a_ptr + tile)
        acc = tl.dot(a, a, acc)
    tl.store(out_ptr + tile, acc)


def launch(kernel):
    a = (np.arange(32 * 32).reshape(32, 32) % 3).astype(np.float32)
    out = np.zeros((32, 32), np.float32)
    kernel[(1,)](a, out, K=2)
    return out, 2 * (a.astype(np.float32) @ a.astype(np.float32))
