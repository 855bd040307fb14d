"""Persistent GEMM on Hopper, ping-pong: two consumers take turns at the tensor cores.

Each consumer has tiles of its own. While one multiplies, the other converts and stores; named
barriers 9 and 10 hand the turn over. Both draw from one ring, tile after tile.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def gemm_kernel(
    a_desc, b_desc, c_desc, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    THREADS: tl.constexpr = 256  # both consumers, one waits and one arrives
    a = tlx.local_alloc((BM, BK), tl.float16, STAGES)
    b = tlx.local_alloc((BK, BN), tl.float16, STAGES)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    tiles_m = tl.cdiv(M, BM)
    tiles = tiles_m * tl.cdiv(N, BN)
    steps = tl.cdiv(K, BK)
    first = tl.program_id(0)
    programs = tl.num_programs(0)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            turn = 0
            for tile in range(first, tiles, programs):
                row = (tile % tiles_m) * BM
                column = (tile // tiles_m) * BN
                for k in range(steps):
                    slot = turn % STAGES
                    tlx.barrier_wait(empty[slot], (turn // STAGES) & 1 ^ 1)
                    tlx.barrier_expect_bytes(full[slot], (BM * BK + BK * BN) * 2)
                    tlx.async_descriptor_load(a_desc, a[slot], [row, k * BK], full[slot])
                    tlx.async_descriptor_load(b_desc, b[slot], [k * BK, column], full[slot])
                    turn += 1
        with tlx.async_task(num_warps=4, replicate=2):
            me = tlx.async_task_replica_id()
            if me == 1:
                tlx.named_barrier_arrive(9, THREADS)  # the first turn is the other one's
            turn = me * steps
            for tile in range(first + me * programs, tiles, 2 * programs):
                row = (tile % tiles_m) * BM
                column = (tile // tiles_m) * BN
                acc = tl.zeros((BM, BN), dtype=tl.float32)
                tlx.named_barrier_wait(9 + me, THREADS)
                for _ in range(steps):
                    slot = turn % STAGES
                    tlx.barrier_wait(full[slot], (turn // STAGES) & 1)
                    acc = tlx.async_dot(a[slot], b[slot], acc)
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(empty[slot], 1)
                    turn += 1
                tlx.named_barrier_arrive(10 - me, THREADS)
                turn += steps  # the other one's tile
                c_desc.store([row, column], acc.to(tl.float16))


def gemm(a, b, block=(64, 64, 32), stages=3, programs=2):
    (M, K), N = a.shape, b.shape[1]
    c = np.empty((M, N), np.float16)
    gemm_kernel[(programs,)](
        tw.TensorDescriptor.from_tensor(a, [block[0], block[2]]),
        tw.TensorDescriptor.from_tensor(b, [block[2], block[1]]),
        tw.TensorDescriptor.from_tensor(c, [block[0], block[1]]),
        M, N, K, BM=block[0], BN=block[1], BK=block[2], STAGES=stages,
    )  # fmt: skip
    return c


def example(rng):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((190, 96)).astype(np.float16)
    b = rng.standard_normal((96, 136)).astype(np.float16)
    return gemm(a, b), a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
