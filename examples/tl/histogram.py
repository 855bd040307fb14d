"""Count values into bins: each program counts its block on chip and adds the counts atomically."""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def histogram_kernel(x_ptr, counts_ptr, count, BINS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = offsets < count
    x = tl.load(x_ptr + offsets, mask=inside, other=0)
    counts = tl.histogram(x, BINS, mask=inside)
    tl.atomic_add(counts_ptr + tl.arange(0, BINS), counts)


def histogram(x, bins):
    counts = np.zeros(bins, np.int32)
    histogram_kernel[(tw.cdiv(x.size, 512),)](x, counts, x.size, BINS=bins, BLOCK=512)
    return counts


def example(rng):
    """Counts, and what NumPy says."""
    x = rng.integers(0, 64, 9_999, dtype=np.int32)
    return histogram(x, 64), np.bincount(x, minlength=64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("equal:", np.array_equal(result, expected))
