"""Layer normalisation, forward and backward.

The gradients of weight and bias are sums over all rows. Groups of rows add theirs into one of
GROUPS partial buffers behind a lock; a second kernel adds the partial buffers up.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def forward_kernel(
    x_ptr, y_ptr, weight_ptr, bias_ptr, mean_ptr, rstd_ptr, stride, N, eps, BLOCK: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * stride
    y_ptr += row * stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / N
    square = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + columns, mask=columns < N, other=0.0).to(tl.float32)
        centred = tl.where(columns < N, x - mean, 0.0)
        square += centred * centred
    rstd = 1 / tl.sqrt(tl.sum(square, axis=0) / N + eps)
    tl.store(mean_ptr + row, mean)
    tl.store(rstd_ptr + row, rstd)
    for start in range(0, N, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        inside = columns < N
        weight = tl.load(weight_ptr + columns, mask=inside)
        bias = tl.load(bias_ptr + columns, mask=inside)
        x = tl.load(x_ptr + columns, mask=inside, other=0.0).to(tl.float32)
        tl.store(y_ptr + columns, (x - mean) * rstd * weight + bias, mask=inside)


@tw.jit
def backward_kernel(
    dx_ptr, dy_ptr, dw_ptr, db_ptr, x_ptr, weight_ptr, mean_ptr, rstd_ptr, lock_ptr, stride, N,
    GROUPS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    inside = columns < N
    x = tl.load(x_ptr + row * stride + columns, mask=inside, other=0).to(tl.float32)
    dy = tl.load(dy_ptr + row * stride + columns, mask=inside, other=0).to(tl.float32)
    weight = tl.load(weight_ptr + columns, mask=inside, other=0).to(tl.float32)
    rstd = tl.load(rstd_ptr + row)
    x_hat = tl.where(inside, (x - tl.load(mean_ptr + row)) * rstd, 0.0)
    dy_hat = tl.where(inside, weight * dy, 0.0)
    along = tl.sum(x_hat * dy_hat, axis=0) / N
    offset = tl.sum(dy_hat, axis=0) / N
    dx = (dy_hat - (x_hat * along + offset)) * rstd
    tl.store(dx_ptr + row * stride + columns, dx, mask=inside)

    group = row % GROUPS
    lock = lock_ptr + group
    first_use = lock_ptr + GROUPS + group
    partial_w = (dy * x_hat).to(tl.float32)
    partial_b = dy.to(tl.float32)
    dw_ptrs = dw_ptr + group * N + columns
    db_ptrs = db_ptr + group * N + columns
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(first_use) == 0:
        tl.atomic_xchg(first_use, 1)
    else:
        partial_w += tl.load(dw_ptrs, mask=inside)
        partial_b += tl.load(db_ptrs, mask=inside)
    tl.store(dw_ptrs, partial_w, mask=inside)
    tl.store(db_ptrs, partial_b, mask=inside)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@tw.jit
def reduce_kernel(
    dw_ptr, db_ptr, out_w_ptr, out_b_ptr, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr
):
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    dw = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    db = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, M, BLOCK_M):
        rows = start + tl.arange(0, BLOCK_M)
        inside = (rows[:, None] < M) & (columns[None, :] < N)
        offsets = rows[:, None] * N + columns[None, :]
        dw += tl.load(dw_ptr + offsets, mask=inside, other=0.0)
        db += tl.load(db_ptr + offsets, mask=inside, other=0.0)
    tl.store(out_w_ptr + columns, tl.sum(dw, axis=0), mask=columns < N)
    tl.store(out_b_ptr + columns, tl.sum(db, axis=0), mask=columns < N)


def layer_norm(x, weight, bias, eps=1e-5):
    rows, N = x.shape
    y, (mean, rstd) = np.empty_like(x), np.empty((2, rows), np.float32)
    block = min(1024, tw.next_power_of_2(N))
    forward_kernel[(rows,)](x, y, weight, bias, mean, rstd, N, N, eps, BLOCK=block)
    return y, mean, rstd


def layer_norm_backward(dy, x, weight, mean, rstd, groups=8):
    rows, N = x.shape
    dx, dw, db = np.empty_like(x), np.empty(N, np.float32), np.empty(N, np.float32)
    partial_w, partial_b = np.empty((2, groups, N), np.float32)
    locks = np.zeros(2 * groups, np.int32)
    backward_kernel[(rows,)](
        dx, dy, partial_w, partial_b, x, weight, mean, rstd, locks, N, N,
        GROUPS=groups, BLOCK=tw.next_power_of_2(N),
    )  # fmt: skip
    reduce_kernel[(tw.cdiv(N, 128),)](
        partial_w, partial_b, dw, db, min(groups, rows), N, BLOCK_M=32, BLOCK_N=128
    )
    return dx, dw, db


def example(rng):
    """Output and gradients, and what NumPy says in float64."""
    x, dy = rng.standard_normal((2, 37, 333), dtype=np.float32)
    weight, bias = rng.standard_normal((2, 333), dtype=np.float32)
    y, mean, rstd = layer_norm(x, weight, bias)
    results = (y, *layer_norm_backward(dy, x, weight, mean, rstd))
    x, dy, weight, bias = (array.astype(np.float64) for array in (x, dy, weight, bias))
    scale = 1 / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    x_hat = (x - x.mean(axis=1, keepdims=True)) * scale
    dy_hat = dy * weight
    along = (x_hat * dy_hat).mean(axis=1, keepdims=True)
    dx = (dy_hat - x_hat * along - dy_hat.mean(axis=1, keepdims=True)) * scale
    return results, (x_hat * weight + bias, dx, (dy * x_hat).sum(axis=0), dy.sum(axis=0))


if __name__ == "__main__":
    results, references = example(np.random.default_rng(0))
    for name, result, expected in zip(("y", "dx", "dw", "db"), results, references, strict=True):
        print(f"largest error of {name}:", np.abs(result - expected).max())
