"""Small kernels whose every wait, arrival and fence matters; tests take one away at a time."""

from __future__ import annotations

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def ring(x_desc, out_ptr, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """The sum of blocks that a producer loads into a ring of two."""
    tile = tlx.local_alloc((BLOCK, BLOCK), tl.float32, 2)
    full = tlx.alloc_barriers(2)
    empty = tlx.alloc_barriers(2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
            for k in range(STEPS):
                slot = k % 2
                tlx.barrier_wait(full[slot], (k // 2) & 1)
                total += tlx.local_load(tile[slot])
                tlx.barrier_arrive(empty[slot], 1)
            rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
            tl.store(out_ptr + rows * BLOCK + columns, total)
        with tlx.async_task(num_warps=1):
            for k in range(STEPS):
                slot = k % 2
                tlx.barrier_wait(empty[slot], ((k // 2) & 1) ^ 1)
                tlx.barrier_expect_bytes(full[slot], BLOCK * BLOCK * 4)
                tlx.async_descriptor_load(x_desc, tile[slot], [0, k * BLOCK], full[slot])


@tw.jit
def ping_pong(out_ptr, ROUNDS: tl.constexpr):
    """One task writes a number, two read it, and only then comes the next."""
    box = tlx.local_alloc((32,), tl.int32, 1)
    ready = tlx.alloc_barriers(1)
    taken = tlx.alloc_barriers(1, arrive_count=2)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(ROUNDS):
                tlx.barrier_wait(taken[0], (i & 1) ^ 1)
                tlx.local_store(box[0], tl.arange(0, 32) + 100 * i)
                tlx.barrier_arrive(ready[0], 1)
        with tlx.async_task(num_warps=1, replicate=2):
            who = tlx.async_task_replica_id()
            for i in range(ROUNDS):
                tlx.barrier_wait(ready[0], i & 1)
                seen = tlx.local_load(box[0])
                tlx.barrier_arrive(taken[0], 1)
                tl.store(out_ptr + (who * ROUNDS + i) * 32 + tl.arange(0, 32), seen)


@tw.jit
def aliased(x_desc, y_desc, z_ptr, BLOCK: tl.constexpr):
    """A block is loaded, doubled, and stored through a buffer in the same bytes; and copied."""
    storage = tlx.storage_alias_spec(storage=tlx.storage_kind.smem)
    a = tlx.local_alloc((BLOCK, BLOCK), tl.float32, 1, reuse=storage)
    c = tlx.local_alloc((BLOCK, BLOCK), tl.float32, 1, reuse=storage)
    storage.set_buffer_overlap(tlx.reuse_group(a, c, group_type=tlx.reuse_group_type.shared))
    full = tlx.alloc_barriers(1)
    read = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_expect_bytes(full[0], BLOCK * BLOCK * 4)
            tlx.async_descriptor_load(x_desc, a[0], [0, 0], full[0])
            tlx.barrier_wait(full[0], 0)
            value = tlx.local_load(a[0])
            tlx.barrier_wait(read[0], 0)
            tlx.local_store(c[0], value * 2)
            tlx.fence_async_shared()
            tlx.async_descriptor_store(y_desc, c[0], [0, 0])
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1):
            tlx.barrier_wait(full[0], 0)
            other = tlx.local_load(a[0])
            tlx.barrier_arrive(read[0], 1)
            rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
            tl.store(z_ptr + rows * BLOCK + columns, other)


@tw.jit
def product(a_desc, c_ptr, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """A ring of one, filled by the task that multiplies: the MMA must be done before."""
    tile = tlx.local_alloc((BLOCK, BLOCK), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for k in range(STEPS):
        tlx.barrier_expect_bytes(full[0], BLOCK * BLOCK * 2)
        tlx.async_descriptor_load(a_desc, tile[0], [0, k * BLOCK], full[0])
        tlx.barrier_wait(full[0], k & 1)
        acc = tlx.async_dot(tile[0], tile[0], acc)
        acc = tlx.async_dot_wait(0, acc)
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    tl.store(c_ptr + rows * BLOCK + columns, acc)


@tw.jit
def neighbours(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Each CTA of a pair gives its block to the other one."""
    here = tlx.local_alloc((BLOCK,), tl.float32, 1)
    arrived = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(arrived[0], BLOCK * 4)
    tlx.cluster_barrier()
    rank = tlx.cluster_cta_rank()
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x_ptr + offsets)
    tlx.async_remote_shmem_store(here[0], value, rank ^ 1, arrived[0])
    tlx.barrier_wait(arrived[0], 0)
    tl.store(out_ptr + offsets, tlx.local_load(here[0]))
    tlx.cluster_barrier()
