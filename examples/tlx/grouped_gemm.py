"""Many products of different sizes in one launch, on Hopper.

Where the rows of a group begin and end lies in memory. Programs walk over the tiles of all groups,
and each task makes the TMA descriptors of a group on the device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def first_tile(done):
    """The first tile of a group for this program: as if tiles of all groups were numbered on."""
    return (tl.program_id(0) + tl.num_programs(0) - done % tl.num_programs(0)) % tl.num_programs(0)


@tw.jit
def gemm_kernel(
    a_ptr, b_ptr, c_ptr, offsets_ptr, groups, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    HALF: tl.constexpr = BM // 2  # two consumers, each has half of the rows of a tile
    a = tlx.local_alloc((HALF, BK), tlx.dtype_of(a_ptr), 2 * STAGES)
    b = tlx.local_alloc((BK, BN), tlx.dtype_of(b_ptr), STAGES)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=2)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    steps = tl.cdiv(K, BK)
    tiles_n = tl.cdiv(N, BN)

    with tlx.async_tasks():
        with tlx.async_task("default", registers=240, replicate=2):
            part = tlx.async_task_replica_id()
            turn = 0
            done = 0
            for group in range(groups):
                first = tl.load(offsets_ptr + group)
                rows = tl.load(offsets_ptr + group + 1) - first
                tiles_m = tl.cdiv(rows, BM)
                for tile in range(first_tile(done), tiles_m * tiles_n, tl.num_programs(0)):
                    acc = tl.zeros((HALF, BN), dtype=tl.float32)
                    for k in range(steps):
                        slot = turn % STAGES
                        tlx.barrier_wait(full[slot], (turn // STAGES) & 1)
                        acc = tlx.async_dot(a[2 * slot + part], b[slot], acc)
                        acc = tlx.async_dot_wait(1, acc)
                        before = (turn + STAGES - 1) % STAGES
                        tlx.barrier_arrive(empty[before], 1, pred=k > 0)
                        turn += 1
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(empty[(turn + STAGES - 1) % STAGES], 1)
                    row = (tile % tiles_m) * BM + part * HALF + tl.arange(0, HALF)
                    column = (tile // tiles_m) * BN + tl.arange(0, BN)
                    places = c_ptr + (first + row[:, None]) * N + column[None, :]
                    inside = (row[:, None] < rows) & (column[None, :] < N)
                    tl.store(places, acc.to(tlx.dtype_of(c_ptr)), mask=inside)
                done += tiles_m * tiles_n
        with tlx.async_task(num_warps=1, registers=40):  # the producer
            turn = 0
            done = 0
            for group in range(groups):
                first = tl.load(offsets_ptr + group)
                rows = tl.load(offsets_ptr + group + 1) - first
                tiles_m = tl.cdiv(rows, BM)
                matrix = group.to(tl.int64) * K * N  # may be beyond 32 bits
                a_desc = tl.make_tensor_descriptor(a_ptr + first * K, [rows, K], [K, 1], [HALF, BK])
                b_desc = tl.make_tensor_descriptor(b_ptr + matrix, [K, N], [N, 1], [BK, BN])
                for tile in range(first_tile(done), tiles_m * tiles_n, tl.num_programs(0)):
                    row = (tile % tiles_m) * BM
                    column = (tile // tiles_m) * BN
                    for k in range(steps):
                        slot = turn % STAGES
                        tlx.barrier_wait(empty[slot], (turn // STAGES) & 1 ^ 1)
                        tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                        tlx.async_descriptor_load(a_desc, a[2 * slot], [row, k * BK], full[slot])
                        tlx.async_descriptor_load(
                            a_desc, a[2 * slot + 1], [row + HALF, k * BK], full[slot]
                        )
                        tlx.async_descriptor_load(b_desc, b[slot], [k * BK, column], full[slot])
                        turn += 1
                done += tiles_m * tiles_n


class Config(NamedTuple):
    """Sizes for an H200."""

    block: tuple[int, int, int] = (128, 256, 64)
    stages: int = 3
    programs: int = 132


SMALL = Config(block=(128, 64, 32), programs=3)
"""Quick to run without a GPU."""


def empty(like, shape):
    """An array where `like` is: NumPy's, or a tensor of torch on the same device."""
    return like.new_empty(shape) if hasattr(like, "new_empty") else np.empty(shape, like.dtype)


def grouped_gemm(a, b, offsets, config=None, out=None):
    """Rows ``offsets[i]`` to ``offsets[i + 1]`` of `a` times matrix ``i`` of `b`."""
    (BM, BN, BK), stages, programs = config or Config()
    (M, _), (groups, K, N) = a.shape, b.shape
    c = empty(a, (M, N)) if out is None else out
    gemm_kernel[(programs,)](a, b, c, offsets, groups, N, K, BM=BM, BN=BN, BK=BK, STAGES=stages)
    return c


def example(rng, config=SMALL):
    """The result and what NumPy says in float64."""
    offsets = np.array([0, 40, 170, 170, 234], np.int32)
    a = rng.standard_normal((offsets[-1], 96)).astype(np.float16)
    b = rng.standard_normal((len(offsets) - 1, 96, 80)).astype(np.float16)
    pieces = [
        a[offsets[group] : offsets[group + 1]].astype(np.float64) @ matrix.astype(np.float64)
        for group, matrix in enumerate(b)
    ]
    return grouped_gemm(a, b, offsets, config), np.concatenate(pieces)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
