"""A GEMM whose long side is split over programs; each leaves its part of every sum.

One task loads, one multiplies, one writes out. The part leaves through memory that the ring of
three stages no longer needs: the writer's buffer lies over all of it.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def split_kernel(
    left, right, parts, steps, M,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr, RING: tl.constexpr,
):  # fmt: skip
    arena = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    lhs = tlx.local_alloc((ROWS, DEPTH), tl.float16, RING, reuse=arena)
    rhs = tlx.local_alloc((DEPTH, COLUMNS), tl.float16, RING, reuse=arena)
    out = tlx.local_alloc((ROWS, COLUMNS), tl.float32, 1, reuse=arena)
    ring = tlx.reuse_group(lhs, rhs, group_type=tlx.reuse_group_type.distinct)
    arena.set_buffer_overlap(tlx.reuse_group(ring, out, group_type=tlx.reuse_group_type.shared))
    landed = tlx.alloc_barriers(num_barriers=RING, arrive_count=1)
    taken = tlx.alloc_barriers(num_barriers=RING, arrive_count=1)
    finished = tlx.alloc_barriers(num_barriers=1, arrive_count=1)
    row = tl.program_id(0) * ROWS
    column = tl.program_id(1) * COLUMNS
    split = tl.program_id(2)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(finished[0], 0)
            tlx.async_descriptor_store(parts, out[0], [split * M + row, column])
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=4):
            total = tl.zeros([ROWS, COLUMNS], dtype=tl.float32)
            at = 0
            lap = 0
            for _ in range(steps):
                tlx.barrier_wait(landed[at], lap)
                total = tlx.async_dot(lhs[at], rhs[at], total)
                total = tlx.async_dot_wait(0, total)
                tlx.barrier_arrive(taken[at], 1)
                at += 1
                if at == RING:
                    at = 0
                    lap = lap ^ 1
            tlx.local_store(out[0], total)
            tlx.fence_async_shared()
            tlx.barrier_arrive(finished[0], 1)
        with tlx.async_task(num_warps=1):
            at = 0
            lap = 1
            for step in range(steps):
                depth = (split * steps + step) * DEPTH
                tlx.barrier_wait(taken[at], lap)
                tlx.barrier_expect_bytes(landed[at], (ROWS + COLUMNS) * DEPTH * 2)
                tlx.async_descriptor_load(left, lhs[at], [row, depth], landed[at])
                tlx.async_descriptor_load(right, rhs[at], [depth, column], landed[at])
                at += 1
                if at == RING:
                    at = 0
                    lap = lap ^ 1


def gemm(a, b, splits=2, block=(64, 64, 32), ring=3):
    rows, columns, depth = block
    (m, k), n = a.shape, b.shape[1]
    parts = np.full((splits * m, n), np.nan, np.float32)
    descriptors = [
        tw.TensorDescriptor.from_tensor(array, shape)
        for array, shape in ((a, [rows, depth]), (b, [depth, columns]), (parts, [rows, columns]))
    ]
    split_kernel[(m // rows, n // columns, splits)](
        *descriptors, k // depth // splits, m,
        ROWS=rows, COLUMNS=columns, DEPTH=depth, RING=ring,
    )  # fmt: skip
    return parts.reshape(splits, m, n).sum(axis=0)


def example(rng):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((64, 448)).astype(np.float16)
    b = rng.standard_normal((448, 128)).astype(np.float16)
    return gemm(a, b), a.astype(np.float64) @ b.astype(np.float64)
