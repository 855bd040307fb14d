"""Kernels whose results are integers or random bits: every implementation must agree to the bit."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def random_bits(out_ptr, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b, c, d = tl.randint4x(seed, offsets)
    tl.store(out_ptr + offsets * 6, a)
    tl.store(out_ptr + offsets * 6 + 1, b)
    tl.store(out_ptr + offsets * 6 + 2, c)
    tl.store(out_ptr + offsets * 6 + 3, d)
    tl.store(out_ptr + offsets * 6 + 4, tl.randint(seed, offsets))
    uniform = tl.rand(seed, offsets)
    tl.store(out_ptr + offsets * 6 + 5, uniform.to(tl.int32, bitcast=True))


@tw.jit
def arithmetic(x_ptr, y_ptr, out_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + lanes)
    y = tl.load(y_ptr + lanes)
    positive = (y & 15) + 1
    out_ptr += lanes
    tl.store(out_ptr, x + y)
    tl.store(out_ptr + BLOCK, x - y)
    tl.store(out_ptr + 2 * BLOCK, x * y)
    tl.store(out_ptr + 3 * BLOCK, x // positive)
    tl.store(out_ptr + 4 * BLOCK, x % positive)
    tl.store(out_ptr + 5 * BLOCK, (x & y) | (x ^ 77))
    tl.store(out_ptr + 6 * BLOCK, ~x)
    tl.store(out_ptr + 7 * BLOCK, x << (y & 7))
    tl.store(out_ptr + 8 * BLOCK, x >> (y & 7))
    tl.store(out_ptr + 9 * BLOCK, tl.minimum(x, y))
    tl.store(out_ptr + 10 * BLOCK, tl.maximum(x, y))
    tl.store(out_ptr + 11 * BLOCK, tl.where(x < y, x, -y))


@tw.jit
def collective(x_ptr, out_ptr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.arange(0, ROWS)
    columns = tl.arange(0, COLUMNS)
    offsets = rows[:, None] * COLUMNS + columns[None, :]
    x = tl.load(x_ptr + offsets)
    size: tl.constexpr = ROWS * COLUMNS
    tl.store(out_ptr + offsets, tl.cumsum(x, axis=1))
    tl.store(out_ptr + size + offsets, tl.cumsum(x, axis=0))
    tl.store(out_ptr + 2 * size + offsets, tl.sort(x, dim=1))
    tl.store(out_ptr + 3 * size + offsets, tl.flip(x, 1))
    out_ptr += 4 * size
    tl.store(out_ptr + rows, tl.sum(x, axis=1))
    tl.store(out_ptr + ROWS + rows, tl.max(x, axis=1))
    tl.store(out_ptr + 2 * ROWS + rows, tl.min(x, axis=1))
    tl.store(out_ptr + 3 * ROWS + rows, tl.argmax(x, axis=1))
    tl.store(out_ptr + 4 * ROWS + rows, tl.argmin(x, axis=1))
    tl.store(out_ptr + 5 * ROWS + rows, tl.xor_sum(x, axis=1))


@tw.jit
def atomics(x_ptr, out_ptr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + tl.program_id(0) * BLOCK + lanes)
    slot = x & 7
    tl.atomic_add(out_ptr + slot, x)
    tl.atomic_max(out_ptr + 8 + slot, x)
    tl.atomic_min(out_ptr + 16 + slot, x)
    tl.atomic_and(out_ptr + 24 + slot, x | 255)
    tl.atomic_or(out_ptr + 32 + slot, x & 1023)
    tl.atomic_xor(out_ptr + 40 + slot, x)


def example(rng):
    """Integers of several widths through all of them."""
    results = []
    out = np.zeros((4 * 128, 6), np.int32)
    random_bits[(4,)](out, 98765, BLOCK=128)
    results.append(out)
    out = np.zeros((2 * 128, 6), np.int32)
    random_bits[(2,)](out, 2**40 + 17, BLOCK=128)
    results.append(out)
    for dtype in (np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64):
        info = np.iinfo(dtype)
        x, y = rng.integers(info.min, info.max, (2, 256), dtype=dtype, endpoint=True)
        out = np.zeros((12, 256), dtype)
        arithmetic[(1,)](x, y, out, BLOCK=256)
        results.append(out)
    for dtype in (np.int32, np.int64):
        x = rng.integers(-(10**6), 10**6, (8, 64), dtype=dtype)
        out = np.zeros(4 * x.size + 6 * 8, dtype)
        collective[(1,)](x, out, ROWS=8, COLUMNS=64)
        results.append(out)
    x = rng.integers(-(10**6), 10**6, 4 * 64, dtype=np.int32)
    out = np.zeros(48, np.int32)
    atomics[(4,)](x, out, BLOCK=64)
    results.append(out)
    return tuple(results)
