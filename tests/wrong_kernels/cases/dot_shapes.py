"""Multiplies two row-major tiles without transposing the second."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(q_ptr, k_ptr, out_ptr, M: tl.constexpr, D: tl.constexpr):
    rows = tl.arange(0, M)
    depth = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + depth[None, :])
    k = tl.load(k_ptr + rows[:, None] * D + depth[None, :])
    scores = tl.dot(q, k)
    tl.store(out_ptr + rows[:, None] * M + rows[None, :], scores)


@tw.jit
def fixed(q_ptr, k_ptr, out_ptr, M: tl.constexpr, D: tl.constexpr):
    rows = tl.arange(0, M)
    depth = tl.arange(0, D)
    q = tl.load(q_ptr + rows[:, None] * D + depth[None, :])
    k = tl.load(k_ptr + rows[:, None] * D + depth[None, :])
    scores = tl.dot(q, tl.trans(k))
    tl.store(out_ptr + rows[:, None] * M + rows[None, :], scores)


def launch(kernel):
    q = np.arange(16 * 32, dtype=np.float32).reshape(16, 32) % 7
    k = np.arange(16 * 32, dtype=np.float32).reshape(16, 32) % 5
    out = np.zeros((16, 16), np.float32)
    kernel[(1,)](q, k, out, M=16, D=32)
    return out, q @ k.T
