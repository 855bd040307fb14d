"""The squared distance of rows, block by block: two tasks load, one computes, one writes.

Each of the three rings has barriers of its own, in one array: those that say "here it is" first,
those that say "it is yours again" behind them.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def fetch(source, place, bars, blocks, SIDE: tl.constexpr, DEEP: tl.constexpr):
    """Fill a ring from a row of blocks."""
    for block in range(blocks):
        at = block % DEEP
        tlx.barrier_wait(bars[DEEP + at], (block // DEEP) & 1 ^ 1)
        tlx.barrier_expect_bytes(bars[at], SIDE * SIDE * 4)
        tlx.async_descriptor_load(
            source, place[at], [tl.program_id(0) * SIDE, block * SIDE], bars[at]
        )


@tw.jit
def distance_kernel(x_rows, y_rows, z_rows, blocks, SIDE: tl.constexpr, DEEP: tl.constexpr):
    xs = tlx.local_alloc((SIDE, SIDE), tl.float32, DEEP)
    ys = tlx.local_alloc((SIDE, SIDE), tl.float32, DEEP)
    zs = tlx.local_alloc((SIDE, SIDE), tl.float32, DEEP)
    x_bars = tlx.alloc_barriers(num_barriers=2 * DEEP, arrive_count=1)
    y_bars = tlx.alloc_barriers(num_barriers=2 * DEEP, arrive_count=1)
    z_bars = tlx.alloc_barriers(num_barriers=2 * DEEP, arrive_count=1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for block in range(blocks):
                at = block % DEEP
                lap = (block // DEEP) & 1
                tlx.barrier_wait(x_bars[at], lap)
                x = tlx.local_load(xs[at])
                tlx.barrier_arrive(x_bars[DEEP + at], 1)
                tlx.barrier_wait(y_bars[at], lap)
                y = tlx.local_load(ys[at])
                tlx.barrier_arrive(y_bars[DEEP + at], 1)
                z = (x - y) * (x - y)
                tlx.barrier_wait(z_bars[DEEP + at], lap ^ 1)
                tlx.local_store(zs[at], z)
                tlx.fence_async_shared()
                tlx.barrier_arrive(z_bars[at], 1)
        with tlx.async_task(num_warps=1):
            fetch(x_rows, xs, x_bars, blocks, SIDE, DEEP)
        with tlx.async_task(num_warps=1):
            fetch(y_rows, ys, y_bars, blocks, SIDE, DEEP)
        with tlx.async_task(num_warps=1):
            for block in range(blocks):
                at = block % DEEP
                tlx.barrier_wait(z_bars[at], (block // DEEP) & 1)
                tlx.async_descriptor_store(z_rows, zs[at], [tl.program_id(0) * SIDE, block * SIDE])
                tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(z_bars[DEEP + at], 1)


def example(rng, side=32, deep=2, blocks=5):
    """The result and what NumPy says in float64."""
    x, y = rng.standard_normal((2, 2 * side, blocks * side)).astype(np.float32)
    z = np.full_like(x, np.nan)
    descriptors = [tw.TensorDescriptor.from_tensor(array, [side, side]) for array in (x, y, z)]
    distance_kernel[(2,)](*descriptors, blocks, SIDE=side, DEEP=deep)
    return z, (x.astype(np.float64) - y) ** 2
