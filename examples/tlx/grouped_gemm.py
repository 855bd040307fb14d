"""Many products of different sizes in one launch, on Hopper.

The sizes of the groups lie in memory. Programs walk over the tiles of all groups, and the producer
makes the TMA descriptors of a group on the device.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def gemm_kernel(
    a_ptr, b_ptr, c_ptr, offsets_ptr, groups, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    a = tlx.local_alloc((BM, BK), tl.float16, STAGES)
    b = tlx.local_alloc((BK, BN), tl.float16, STAGES)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    steps = tl.cdiv(K, BK)
    tiles_n = tl.cdiv(N, BN)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            turn = 0
            done = 0
            for group in range(groups):
                first = tl.load(offsets_ptr + group)
                rows = tl.load(offsets_ptr + group + 1) - first
                tiles = tl.cdiv(rows, BM) * tiles_n
                a_desc = tl.make_tensor_descriptor(a_ptr + first * K, [rows, K], [K, 1], [BM, BK])
                b_desc = tl.make_tensor_descriptor(b_ptr + group * K * N, [K, N], [N, 1], [BK, BN])
                start = (tl.program_id(0) - done % tl.num_programs(0)) % tl.num_programs(0)
                start = tl.where(start < 0, start + tl.num_programs(0), start)
                for tile in range(start, tiles, tl.num_programs(0)):
                    row = (tile // tiles_n) * BM
                    column = (tile % tiles_n) * BN
                    for k in range(steps):
                        slot = turn % STAGES
                        tlx.barrier_wait(empty[slot], (turn // STAGES) & 1 ^ 1)
                        tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                        tlx.async_descriptor_load(a_desc, a[slot], [row, k * BK], full[slot])
                        tlx.async_descriptor_load(b_desc, b[slot], [k * BK, column], full[slot])
                        turn += 1
                done += tiles
        with tlx.async_task(num_warps=4):
            turn = 0
            done = 0
            for group in range(groups):
                first = tl.load(offsets_ptr + group)
                rows = tl.load(offsets_ptr + group + 1) - first
                tiles = tl.cdiv(rows, BM) * tiles_n
                start = (tl.program_id(0) - done % tl.num_programs(0)) % tl.num_programs(0)
                start = tl.where(start < 0, start + tl.num_programs(0), start)
                for tile in range(start, tiles, tl.num_programs(0)):
                    acc = tl.zeros((BM, BN), dtype=tl.float32)
                    for _ in range(steps):
                        slot = turn % STAGES
                        tlx.barrier_wait(full[slot], (turn // STAGES) & 1)
                        acc = tlx.async_dot(a[slot], b[slot], acc)
                        acc = tlx.async_dot_wait(0, acc)
                        tlx.barrier_arrive(empty[slot], 1)
                        turn += 1
                    row = (tile // tiles_n) * BM + tl.arange(0, BM)
                    column = (tile % tiles_n) * BN + tl.arange(0, BN)
                    places = c_ptr + (first + row[:, None]) * N + column[None, :]
                    inside = (row[:, None] < rows) & (column[None, :] < N)
                    tl.store(places, acc.to(tl.float16), mask=inside)
                done += tiles


def grouped_gemm(a, b, sizes, block=(64, 64, 32), stages=3, programs=4):
    """Rows of `a` in groups of `sizes`, each group times its own matrix of `b`."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    groups, K, N = b.shape
    c = np.empty((a.shape[0], N), np.float16)
    gemm_kernel[(programs,)](
        a, b, c, offsets, groups, N, K, BM=block[0], BN=block[1], BK=block[2], STAGES=stages
    )
    return c


def example(rng):
    """The result and what NumPy says in float64."""
    sizes = [40, 130, 0, 64]
    a = rng.standard_normal((sum(sizes), 96)).astype(np.float16)
    b = rng.standard_normal((len(sizes), 96, 80)).astype(np.float16)
    ends = np.cumsum(sizes)
    pieces = [
        a[end - size : end].astype(np.float64) @ b[group].astype(np.float64)
        for group, (size, end) in enumerate(zip(sizes, ends, strict=True))
    ]
    return grouped_gemm(a, b, sizes), np.concatenate(pieces)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
