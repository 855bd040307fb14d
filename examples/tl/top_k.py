"""The k largest elements of each row with their places.

Value and place are packed into one 64-bit key: sorting the keys sorts both, and equal values keep
the smaller place first.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl


@tw.jit
def top_k_kernel(x_ptr, values_ptr, places_ptr, stride, N, K: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * stride + columns, mask=columns < N, other=-float("inf"))
    bits = x.to(tl.int32, bitcast=True)
    # Floats as integers of the same order: negative ones run backwards.
    ordered = tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits).to(tl.int64)
    keys = (ordered << 32) | (0x7FFFFFFF - columns).to(tl.int64)
    best = tl.topk(keys, K)
    place = 0x7FFFFFFF - (best & 0x7FFFFFFF).to(tl.int32)
    high = (best >> 32).to(tl.int32)
    value = tl.where(high < 0, high ^ 0x7FFFFFFF, high).to(tl.float32, bitcast=True)
    offsets = row * K + tl.arange(0, K)
    tl.store(values_ptr + offsets, value)
    tl.store(places_ptr + offsets, place)


def top_k(x, k):
    rows, N = x.shape
    values, places = np.empty((rows, k), np.float32), np.empty((rows, k), np.int32)
    top_k_kernel[(rows,)](x, values, places, N, N, K=k, BLOCK=tw.next_power_of_2(N))
    return values, places


def example(rng):
    """Values and places, and what NumPy's stable sort says."""
    x = rng.standard_normal((33, 200), dtype=np.float32).round(1)
    places = np.argsort(-x, axis=1, kind="stable")[:, :8]
    return top_k(x, 8), (np.take_along_axis(x, places, axis=1), places)


if __name__ == "__main__":
    results, references = example(np.random.default_rng(0))
    for name, result, expected in zip(("values", "places"), results, references, strict=True):
        print(f"{name} equal:", np.array_equal(result, expected))
