"""Masks the matrix, and forgets the mask of the weights; the rows depend on a loop."""

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def wrong(x_ptr, w_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    sums = tl.zeros((BN,), tl.int32)
    for start in range(0, M, BM):
        rows = start + tl.arange(0, BM)
        w = tl.load(w_ptr + rows)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=inside, other=0)
        sums += tl.sum(w[:, None] * x, axis=0)
    tl.store(out_ptr + columns, sums, mask=columns < N)


@tw.jit
def fixed(x_ptr, w_ptr, out_ptr, M, N, BM: tl.constexpr, BN: tl.constexpr):
    columns = tl.program_id(0) * BN + tl.arange(0, BN)
    sums = tl.zeros((BN,), tl.int32)
    for start in range(0, M, BM):
        rows = start + tl.arange(0, BM)
        w = tl.load(w_ptr + rows, mask=rows < M, other=0)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        x = tl.load(x_ptr + rows[:, None] * N + columns[None, :], mask=inside, other=0)
        sums += tl.sum(w[:, None] * x, axis=0)
    tl.store(out_ptr + columns, sums, mask=columns < N)


def launch(kernel):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 100, (50, 21), dtype=np.int32)
    w = rng.integers(0, 100, 50, dtype=np.int32)
    out = np.empty(21, np.int32)
    kernel[(2,)](x, w, out, 50, 21, BM=16, BN=16)
    return out, w @ x
