"""Persistent GEMM on Hopper whose results leave through the bytes of an operand.

`c` shares the storage of the ring of B: a consumer that has multiplied for the last time keeps its
half of the last two slots, writes the two halves of its result there, and starts TMA stores. The
producer gets a slot back when its stores have read it, which nobody waits for: the consumers are in
their next tile by then. No byte of shared memory is spent on the epilogue, so the ring is one stage
deeper.

With `aliased=False` results have buffers of their own, for comparison.
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
def halves(acc, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The left and the right half of the columns, without moving anything between threads."""
    return tl.split(tl.permute(tl.reshape(acc, (ROWS, 2, COLUMNS)), (0, 2, 1)))


@tw.jit
def gemm_kernel(
    a_desc, b_desc, c_desc, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr,
    GROUP: tl.constexpr, ALIASED: tl.constexpr,
):  # fmt: skip
    HALF: tl.constexpr = BM // 2  # two consumers, each has half of the rows of a tile
    BOTH: tl.constexpr = 256  # their threads
    element: tl.constexpr = tlx.dtype_of(c_desc)
    steps = tl.cdiv(K, BK)
    if ALIASED:
        storage = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
        b = tlx.local_alloc((BK, BN), tlx.dtype_of(b_desc), STAGES, reuse=storage)
        c = tlx.local_alloc((HALF, BN // 2), element, 2 * STAGES, reuse=storage)
        pairs = tlx.reuse_group(c, group_size=2)
        storage.set_buffer_overlap(
            tlx.reuse_group(b, pairs, group_type=tlx.reuse_group_type.shared)
        )
        # No consumer gets a tile ahead of the other one; what lies beyond K is zero.
        steps = tl.maximum(steps, STAGES - 1)
    else:
        b = tlx.local_alloc((BK, BN), tlx.dtype_of(b_desc), STAGES)
        c = tlx.local_alloc((HALF, BN // 2), element, 4)
    a = tlx.local_alloc((HALF, BK), tlx.dtype_of(a_desc), 2 * STAGES)
    empty = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=2)
    full = tlx.alloc_barriers(num_barriers=STAGES, arrive_count=1)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    first = tl.program_id(0)

    with tlx.async_tasks():
        with tlx.async_task("default", registers=240, replicate=2):
            part = tlx.async_task_replica_id()
            turn = 0  # counted across tiles: phases go on where the last tile left them
            for tile in range(first, tiles_m * tiles_n, tl.num_programs(0)):
                slot = turn % STAGES
                phase = (turn // STAGES) & 1
                tlx.barrier_wait(full[slot], phase)
                acc = tlx.async_dot(a[2 * slot + part], b[slot])
                # Waiting again takes no time, and what follows is not moved before the product.
                tlx.barrier_wait(full[slot], phase)
                row, column = tile_of(tile, tiles_m, tiles_n, BM, BN, GROUP)
                is_tile = (row >= 0) & (column >= 0)  # asked here: the time to divide is now
                if ALIASED:
                    kept = is_tile & (tile != first)
                    tlx.async_descriptor_store_wait(1)
                    tlx.barrier_arrive(empty[(turn + STAGES - 2) % STAGES], 1, pred=kept)
                    tlx.async_descriptor_store_wait(0)
                    tlx.barrier_arrive(empty[(turn + STAGES - 1) % STAGES], 1, pred=kept)
                else:
                    tlx.async_descriptor_store_wait(0)
                turn += 1
                for k in range(1, steps):
                    slot = turn % STAGES
                    tlx.barrier_wait(full[slot], (turn // STAGES) & 1)
                    acc = tlx.async_dot(a[2 * slot + part], b[slot], acc)
                    acc = tlx.async_dot_wait(1, acc)
                    done = k < steps - 1 if ALIASED else is_tile
                    tlx.barrier_arrive(empty[(turn + STAGES - 1) % STAGES], 1, pred=done)
                    turn += 1
                last = (turn + STAGES - 1) % STAGES
                before = (turn + STAGES - 2) % STAGES
                if ALIASED:
                    tlx.named_barrier_arrive(10 - part, BOTH)  # has read the last slot but one
                acc = tlx.async_dot_wait(0, acc)
                left, right = halves(acc.to(element), HALF, BN // 2)
                if ALIASED:
                    tlx.named_barrier_arrive(12 - part, BOTH)  # has read the last slot
                    tlx.named_barrier_wait(9 + part, BOTH)
                else:
                    tlx.barrier_arrive(empty[last], 1)
                place = c[2 * before + part] if ALIASED else c[part]
                tlx.local_store(place, left)
                tlx.fence_async_shared()
                tlx.async_descriptor_store(c_desc, place, [row + part * HALF, column])
                if ALIASED:
                    tlx.named_barrier_wait(11 + part, BOTH)
                place = c[2 * last + part] if ALIASED else c[2 + part]
                tlx.local_store(place, right)
                tlx.fence_async_shared()
                tlx.async_descriptor_store(c_desc, place, [row + part * HALF, column + BN // 2])
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1, registers=24):  # the producer
            turn = 0
            for tile in range(first, tiles_m * tiles_n, tl.num_programs(0)):
                row, column = tile_of(tile, tiles_m, tiles_n, BM, BN, GROUP)
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


class Config(NamedTuple):
    """Sizes for an H200: as much of its shared memory as the tile leaves."""

    block: tuple[int, int, int] = (128, 256, 64)
    stages: int = 4
    group: int = 8
    aliased: bool = True
    programs: int = 132


UNALIASED = Config(stages=3, aliased=False)
"""What is left for the ring when results have buffers of their own."""
SMALL = Config(block=(128, 64, 64), stages=3, group=2, programs=3)
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
    tiles = tw.cdiv(M, BM) * tw.cdiv(N, BN)
    gemm_kernel[(min(config.programs, tiles),)](
        tw.TensorDescriptor.from_tensor(a, [BM // 2, BK]),
        tw.TensorDescriptor.from_tensor(b, [BK, BN]),
        tw.TensorDescriptor.from_tensor(c, [BM // 2, BN // 2]),
        M, N, K, BM=BM, BN=BN, BK=BK, STAGES=config.stages, GROUP=config.group,
        ALIASED=config.aliased,
    )  # fmt: skip
    return c


def example(rng, config=SMALL):
    """The result and what NumPy says in float64."""
    a = rng.standard_normal((300, 200)).astype(np.float16)
    b = rng.standard_normal((200, 136)).astype(np.float16)
    return gemm(a, b, config), a.astype(np.float64) @ b.astype(np.float64)


if __name__ == "__main__":
    result, expected = example(np.random.default_rng(0))
    print("largest error:", np.abs(result - expected).max())
