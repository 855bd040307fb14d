"""Persistent GEMM on Hopper whose results leave through the bytes of an operand.

`c` shares the storage of the ring of A: a consumer that has multiplied for the last time still owns
the slot it read from, writes its result there, stores it with TMA, and hands the slot back only
when the store has read it. No byte of shared memory is spent on the epilogue.
"""

from __future__ import annotations

import numpy as np

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def tile_of(tile, tiles_m, BM: tl.constexpr, BN: tl.constexpr):
    return (tile % tiles_m) * BM, (tile // tiles_m) * BN


@tw.jit
def gemm_kernel(
    a_desc, b_desc, c_desc, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
    CONSUMERS: tl.constexpr,
):  # fmt: skip
    HALF: tl.constexpr = BM // CONSUMERS
    storage = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    a = tlx.local_alloc((HALF, BK), tl.float16, STAGES * CONSUMERS, reuse=storage)
    c = tlx.local_alloc((HALF, BN), tl.float16, STAGES * CONSUMERS, reuse=storage)
    storage.set_buffer_overlap(tlx.reuse_group(a, c, group_type=tlx.reuse_group_type.shared))
    b = tlx.local_alloc((BK, BN), tl.float16, STAGES)
    empty_a = tlx.alloc_barriers(num_barriers=STAGES * CONSUMERS, arrive_count=1)
    full_a = tlx.alloc_barriers(num_barriers=STAGES * CONSUMERS, arrive_count=1)
    empty_b = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=CONSUMERS)
    full_b = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    tiles_m = tl.cdiv(M, BM)
    tiles = tiles_m * tl.cdiv(N, BN)
    steps = tl.cdiv(K, BK)

    with tlx.async_tasks():
        with tlx.async_task("default"):
            turn = 0  # counted across tiles: phases go on where the last tile left them
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                row, column = tile_of(tile, tiles_m, BM, BN)
                for k in range(steps):
                    slot = turn % STAGES
                    phase = (turn // STAGES) & 1 ^ 1
                    for part in tl.static_range(CONSUMERS):
                        at = slot + part * STAGES
                        tlx.barrier_wait(empty_a[at], phase)
                        tlx.barrier_expect_bytes(full_a[at], HALF * BK * 2)
                        tlx.async_descriptor_load(
                            a_desc, a[at], [row + part * HALF, k * BK], full_a[at]
                        )
                    tlx.barrier_wait(empty_b[slot], phase)
                    tlx.barrier_expect_bytes(full_b[slot], BK * BN * 2)
                    tlx.async_descriptor_load(b_desc, b[slot], [k * BK, column], full_b[slot])
                    turn += 1
        with tlx.async_task(num_warps=4, replicate=CONSUMERS):
            part = tlx.async_task_replica_id()
            turn = 0
            for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
                row, column = tile_of(tile, tiles_m, BM, BN)
                acc = tl.zeros((HALF, BN), dtype=tl.float32)
                for k in range(steps):
                    slot = turn % STAGES
                    phase = (turn // STAGES) & 1
                    at = slot + part * STAGES
                    tlx.barrier_wait(full_a[at], phase)
                    tlx.barrier_wait(full_b[slot], phase)
                    acc = tlx.async_dot(a[at], b[slot], acc)
                    acc = tlx.async_dot_wait(0, acc)
                    tlx.barrier_arrive(empty_b[slot], 1)
                    if k < steps - 1:
                        tlx.barrier_arrive(empty_a[at], 1)
                    turn += 1
                mine = (turn - 1) % STAGES + part * STAGES
                tlx.local_store(c[mine], acc.to(tl.float16))
                tlx.fence_async_shared()
                tlx.async_descriptor_store(c_desc, c[mine], [row + part * HALF, column])
                tlx.async_descriptor_store_wait(0)
                tlx.barrier_arrive(empty_a[mine], 1)


def gemm(a, b, block=(128, 64, 64), stages=2, consumers=2, programs=3):
    (M, K), N = a.shape, b.shape[1]
    c = np.empty((M, N), np.float16)
    half = block[0] // consumers
    gemm_kernel[(programs,)](
        tw.TensorDescriptor.from_tensor(a, [half, block[2]]),
        tw.TensorDescriptor.from_tensor(b, [block[2], block[1]]),
        tw.TensorDescriptor.from_tensor(c, [half, block[1]]),
        M, N, K, BM=block[0], BN=block[1], BK=block[2], STAGES=stages, CONSUMERS=consumers,
    )  # fmt: skip
    return c


def example(rng):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((300, 200)).astype(np.float16)
    b = rng.standard_normal((200, 136)).astype(np.float16)
    return gemm(a, b), a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
