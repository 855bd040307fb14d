"""C = A @ B on Hopper, two consumers that take turns at the tensor cores.

Each consumer computes tiles of its own. Named barriers pass the right to multiply back and forth,
so that one converts and stores its results while the other one multiplies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def tile_of(tile, tiles_m, tiles_n, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    """Tiles that run at the same time share rows of A and columns of B: they stay in the L2."""
    band = tile // (GROUP * tiles_n)
    inside = tile % (GROUP * tiles_n)
    rows = tl.minimum(tiles_m - band * GROUP, GROUP)
    return (band * GROUP + inside % rows) * BM, (inside // rows) * BN


@tw.jit
def gemm_kernel(
    a_desc, b_desc, c_desc, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
    GROUP: tl.constexpr,
):  # fmt: skip
    BOTH: tl.constexpr = 256  # threads of both consumers: one waits and one arrives
    a = tlx.local_alloc((BM, BK), tlx.dtype_of(a_desc), STAGES)
    b = tlx.local_alloc((BK, BN), tlx.dtype_of(b_desc), STAGES)
    c = tlx.local_alloc((BM, BN), tlx.dtype_of(c_desc), 2)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    tiles = tiles_m * tiles_n
    steps = tl.cdiv(K, BK)
    first = tl.program_id(0)
    programs = tl.num_programs(0)

    with tlx.async_tasks():
        with tlx.async_task("default", registers=240, replicate=2):
            me = tlx.async_task_replica_id()
            if me == 1:
                tlx.named_barrier_arrive(9, BOTH)  # the first turn is the other one's
            turn = me * steps
            for tile in range(first + me * programs, tiles, 2 * programs):
                row, column = tile_of(tile, tiles_m, tiles_n, BM, BN, GROUP)
                acc = tl.zeros((BM, BN), dtype=tl.float32)
                tlx.named_barrier_wait(9 + me, BOTH)
                for k in range(steps):
                    slot = turn % STAGES
                    tlx.barrier_wait(full[slot], (turn // STAGES) & 1)
                    acc = tlx.async_dot(a[slot], b[slot], acc)
                    acc = tlx.async_dot_wait(1, acc)
                    before = (turn + STAGES - 1) % STAGES
                    tlx.barrier_arrive(empty[before], 1, pred=k > 0)
                    turn += 1
                tlx.named_barrier_arrive(10 - me, BOTH)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty[(turn + STAGES - 1) % STAGES], 1)
                turn += steps  # the other one's tile
                tlx.async_descriptor_store_wait(0)
                tlx.local_store(c[me], acc.to(tlx.dtype_of(c_desc)))
                tlx.fence_async_shared()
                tlx.async_descriptor_store(c_desc, c[me], [row, column])
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1, registers=24):  # the producer
            turn = 0
            for tile in range(first, tiles, programs):
                row, column = tile_of(tile, tiles_m, tiles_n, BM, BN, GROUP)
                for k in range(steps):
                    slot = turn % STAGES
                    tlx.barrier_wait(empty[slot], (turn // STAGES) & 1 ^ 1)
                    tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                    tlx.async_descriptor_load(a_desc, a[slot], [row, k * BK], full[slot])
                    tlx.async_descriptor_load(b_desc, b[slot], [k * BK, column], full[slot])
                    turn += 1


class Config(NamedTuple):
    """Sizes for an H200."""

    block: tuple[int, int, int] = (128, 128, 64)
    stages: int = 5
    group: int = 8
    programs: int = 132


SMALL = Config(block=(64, 64, 32), stages=3, group=2, programs=2)
"""Quick to run without a GPU."""


def empty(like, shape):
    """An array where `like` is: NumPy's, or a tensor of torch on the same device."""
    return like.new_empty(shape) if hasattr(like, "new_empty") else np.empty(shape, like.dtype)


def gemm(a, b, config=None, out=None):
    """The product of two matrices of half precision, NumPy's or on a GPU."""
    config = config or Config()
    (M, K), N = a.shape, b.shape[1]
    c = empty(a, (M, N)) if out is None else out
    BM, BN, BK = config.block
    gemm_kernel[(config.programs,)](
        tw.TensorDescriptor.from_tensor(a, [BM, BK]),
        tw.TensorDescriptor.from_tensor(b, [BK, BN]),
        tw.TensorDescriptor.from_tensor(c, [BM, BN]),
        M, N, K, BM=BM, BN=BN, BK=BK, STAGES=config.stages, GROUP=config.group,
    )  # fmt: skip
    return c


def example(rng, config=SMALL):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((190, 96)).astype(np.float16)
    b = rng.standard_normal((96, 136)).astype(np.float16)
    return gemm(a, b, config), a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
