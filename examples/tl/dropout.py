"""Dropout that stores no mask: the seed brings the same random numbers back when needed again."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def dropout_kernel(x_ptr, out_ptr, count, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside)
    keep = tl.rand(seed, offsets) > p
    tl.store(out_ptr + offsets, tl.where(keep, x / (1 - p), 0.0), mask=inside)


def dropout(x, p, seed):
    out = np.empty_like(x)
    dropout_kernel[(tw.cdiv(x.size, 1024),)](x, out, x.size, p, seed, BLOCK=1024)
    return out


def philox_uniform(seed, offsets):
    """The same numbers in NumPy: ten rounds of Philox 4x32, the top of the range folded over."""
    low = np.uint64(0xFFFFFFFF)
    c0, c1, c2, c3 = offsets.astype(np.uint64), *np.zeros((3, offsets.size), np.uint64)
    k0, k1 = np.uint64(seed) & low, np.uint64(seed) >> np.uint64(32)
    for _ in range(10):
        high = c2 * np.uint64(0xCD9E8D57), c0 * np.uint64(0xD2511F53)
        c0 = (high[0] >> np.uint64(32)) ^ c1 ^ k0
        c2 = (high[1] >> np.uint64(32)) ^ c3 ^ k1
        c1, c3 = high[0] & low, high[1] & low
        k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
    signed = c0.astype(np.uint32).view(np.int32)
    folded = np.where(signed < 0, -signed - 1, signed)
    return folded.astype(np.float32) * np.float32(4.6566127342e-10)


def example(rng):
    """The result and what NumPy says in float64."""
    x = rng.standard_normal(10_001, dtype=np.float32)
    keep = philox_uniform(1234, np.arange(x.size)) > np.float32(0.4)
    return dropout(x, 0.4, 1234), np.where(keep, x.astype(np.float64) / (1 - 0.4), 0.0)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
