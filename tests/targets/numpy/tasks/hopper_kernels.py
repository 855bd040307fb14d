"""Hopper kernels in `tlx`, small enough to be run often."""

from __future__ import annotations

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def gemm_specialised(
    a_desc, b_desc, c_desc, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """A producer of tiles, and two consumers of half a tile of rows each."""
    HALF: tl.constexpr = BLOCK_M // 2
    a = tlx.local_alloc((HALF, BLOCK_K), tlx.dtype_of(a_desc), STAGES * 2)
    b = tlx.local_alloc((BLOCK_K, BLOCK_N), tlx.dtype_of(b_desc), STAGES)
    full_a = tlx.alloc_barriers(STAGES * 2)
    full_b = tlx.alloc_barriers(STAGES)
    empty_a = tlx.alloc_barriers(STAGES * 2)
    empty_b = tlx.alloc_barriers(STAGES, arrive_count=2)
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    with tlx.async_tasks():
        with tlx.async_task("default"):
            phase = 1
            stage = 0
            for k in range(tl.cdiv(K, BLOCK_K)):
                tlx.barrier_wait(empty_a[stage], phase)
                tlx.barrier_expect_bytes(full_a[stage], HALF * BLOCK_K * 2)
                tlx.async_descriptor_load(a_desc, a[stage], [row, k * BLOCK_K], full_a[stage])
                tlx.barrier_wait(empty_b[stage], phase)
                tlx.barrier_expect_bytes(full_b[stage], BLOCK_K * BLOCK_N * 2)
                tlx.async_descriptor_load(b_desc, b[stage], [k * BLOCK_K, column], full_b[stage])
                second = stage + STAGES
                tlx.barrier_wait(empty_a[second], phase)
                tlx.barrier_expect_bytes(full_a[second], HALF * BLOCK_K * 2)
                tlx.async_descriptor_load(
                    a_desc, a[second], [row + HALF, k * BLOCK_K], full_a[second]
                )
                stage += 1
                phase = phase ^ (stage == STAGES)
                stage = stage % STAGES
        with tlx.async_task(num_warps=4, replicate=2, registers=232):
            part = tlx.async_task_replica_id()
            phase = 0
            stage = 0
            acc = tl.zeros((HALF, BLOCK_N), dtype=tl.float32)
            for _ in range(tl.cdiv(K, BLOCK_K)):
                mine = stage + part * STAGES
                tlx.barrier_wait(full_a[mine], phase)
                tlx.barrier_wait(full_b[stage], phase)
                acc = tlx.async_dot(a[mine], b[stage], acc)
                acc = tlx.async_dot_wait(0, acc)
                tlx.barrier_arrive(empty_a[mine])
                tlx.barrier_arrive(empty_b[stage])
                stage += 1
                phase = phase ^ (stage == STAGES)
                stage = stage % STAGES
            c_desc.store([row + part * HALF, column], acc.to(tlx.dtype_of(c_desc)))


@tw.jit
def gemm_pipelined(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """cp.async keeps a ring of tiles ahead of the MMAs."""
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    depth = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + rows[:, None] * K + depth[None, :]
    b_ptrs = b_ptr + depth[:, None] * N + columns[None, :]
    a = tlx.local_alloc((BLOCK_M, BLOCK_K), tl.float16, STAGES)
    b = tlx.local_alloc((BLOCK_K, BLOCK_N), tl.float16, STAGES)
    for i in tl.static_range(0, STAGES - 1):
        left = tlx.async_load(a_ptrs, a[i], mask=depth[None, :] < K - i * BLOCK_K)
        right = tlx.async_load(b_ptrs, b[i], mask=depth[:, None] < K - i * BLOCK_K)
        tlx.async_load_commit_group([left, right])
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in tl.range(0, tl.cdiv(K, BLOCK_K), num_stages=0):
        stage = k % STAGES
        tlx.async_load_wait_group(STAGES - 2)
        acc = tlx.async_dot(a[stage], b[stage], acc)
        ahead = k + STAGES - 1
        acc = tlx.async_dot_wait(0, acc)
        left = tlx.async_load(a_ptrs, a[ahead % STAGES], mask=depth[None, :] < K - ahead * BLOCK_K)
        right = tlx.async_load(b_ptrs, b[ahead % STAGES], mask=depth[:, None] < K - ahead * BLOCK_K)
        tlx.async_load_commit_group([left, right])
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * N
    out = c_ptr + rows[:, None] * N + columns[None, :]
    tl.store(out, acc.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


@tw.jit
def gemm_too_early(a_ptr, c_ptr, ACTS: tl.constexpr):
    """The result of a wgmma is used before the wait for it, unless `ACTS` is "wait"."""
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    a = tlx.local_alloc((64, 64), tl.float16, 1)
    tlx.local_store(a[0], tl.load(a_ptr + rows * 64 + columns))
    tlx.fence_async_shared()
    acc = tlx.async_dot(a[0], a[0], tl.zeros((64, 64), dtype=tl.float32))
    if ACTS == "wait":
        acc = tlx.async_dot_wait(0, acc)
    tl.store(c_ptr + rows * 64 + columns, acc * 2)


@tw.jit
def ping_pong(out_ptr, ROUNDS: tl.constexpr, THREADS: tl.constexpr):
    """Two tasks write alternately into one buffer, ordered by named barriers."""
    log = tlx.local_alloc((2 * ROUNDS, 32), tl.int32, 1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            lane = tl.arange(0, 32)[None, :]
            for i in range(ROUNDS):
                tlx.named_barrier_wait(9, THREADS)
                part = tlx.local_slice(log[0], [2 * i, 0], [1, 32])
                tlx.local_store(part, lane + 100 * i)
                tlx.named_barrier_arrive(10, THREADS)
            tlx.named_barrier_wait(9, THREADS)
            rows = tl.arange(0, 2 * ROUNDS)[:, None]
            tl.store(out_ptr + rows * 32 + lane, tlx.local_load(log[0]))
        with tlx.async_task(num_warps=4):
            tlx.named_barrier_arrive(9, THREADS)
            for i in range(ROUNDS):
                tlx.named_barrier_wait(10, THREADS)
                before = tlx.local_slice(log[0], [2 * i, 0], [1, 32])
                part = tlx.local_slice(log[0], [2 * i + 1, 0], [1, 32])
                tlx.local_store(part, tlx.local_load(before) + 7)
                tlx.named_barrier_arrive(9, THREADS)


@tw.jit
def per_thread(out_ptr):
    """Every thread arrives at a warp barrier; the count is that of the task's threads."""
    value = tlx.local_alloc((32,), tl.int32, 1)
    bars = tlx.alloc_warp_barrier(1, num_warps=4)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(bars[0], 0)
            tl.store(out_ptr + tl.arange(0, 32), tlx.local_load(value[0]))
        with tlx.async_task(num_warps=4):
            tlx.local_store(value[0], tl.arange(0, 32) * 3)
            tlx.barrier_arrive(bars[0])


@tw.jit
def multicast(a_desc, out_ptr, BLOCK: tl.constexpr):
    """The first CTA of a cluster loads a row of blocks for all of them."""
    tile = tlx.local_alloc((BLOCK, BLOCK), tl.float16, 1)
    full = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    tlx.barrier_expect_bytes(full[0], BLOCK * BLOCK * 2)
    tlx.cluster_barrier()
    tlx.async_descriptor_load(
        a_desc, tile[0], [0, tl.program_id(0) // 2 * BLOCK], full[0], pred=rank == 0,
        multicast_targets=[0, 1],
    )  # fmt: skip
    tlx.barrier_wait(full[0], 0)
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    out = out_ptr + tl.program_id(0) * BLOCK * BLOCK + rows * BLOCK + columns
    tl.store(out, tlx.local_load(tile[0]) + rank.to(tl.float16))
    tlx.cluster_barrier()


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


@tw.jit
def _square(buffer):
    value = tlx.local_load(buffer)
    tlx.local_store(buffer, value * value)


@tw.jit
def called(x_ptr, out_ptr):
    """A function that works on a buffer."""
    buffer = tlx.local_alloc((64,), tl.float32, 2)
    lane = tl.arange(0, 64)
    tlx.local_store(buffer[1], tl.load(x_ptr + lane))
    _square(buffer[1])
    _square(buffer[1])
    tl.store(out_ptr + lane, tlx.local_load(buffer[1]))


@tw.jit
def unwritten(out_ptr):
    """Half of a buffer was never written."""
    buffer = tlx.local_alloc((64, 32), tl.float32, 1)
    half = tlx.local_slice(buffer[0], [32, 0], [32, 32])
    tlx.local_store(half, tl.zeros((32, 32), tl.float32))
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 32)[None, :]
    tl.store(out_ptr + rows * 32 + columns, tlx.local_load(buffer[0]))


@tw.jit
def announced(out_ptr):
    """CTA 1 signals a barrier of CTA 0; no cluster barrier precedes it."""
    value = tlx.local_alloc((32,), tl.int32, 1)
    bars = tlx.alloc_barriers(1)
    lane = tl.arange(0, 32)
    if tlx.cluster_cta_rank() == 1:
        tlx.remote_shmem_store(value[0], lane * 5, 0)
        tlx.barrier_arrive(bars[0], 1, 0)
    else:
        tlx.barrier_wait(bars[0], 0)
        tl.store(out_ptr + lane, tlx.local_load(value[0]))


@tw.jit
def reduced(x_desc, out_desc, BLOCK: tl.constexpr):
    """TMA adds a block to what is in memory, twice, then stores another."""
    tile = tlx.local_alloc((BLOCK, BLOCK), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], BLOCK * BLOCK * 4)
    tlx.async_descriptor_load(x_desc, tile[0], [0, tl.program_id(0) * BLOCK], full[0])
    tlx.barrier_wait(full[0], 0)
    tlx.async_descriptor_store(out_desc, tile[0], [0, 0], store_reduce="add")
    tlx.async_descriptor_store(out_desc, tile[0], [0, 0], store_reduce="add")
    tlx.async_descriptor_store(out_desc, tile[0], [BLOCK, tl.program_id(0) * BLOCK])
    tlx.async_descriptor_store_wait(0)


@tw.jit
def by_index(x_ptr, index_ptr, out_ptr, BLOCK: tl.constexpr):
    """Gather along an axis of a buffer, and scatter back."""
    rows, columns = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    where = rows * BLOCK + columns
    tile = tlx.local_alloc((BLOCK, BLOCK), tl.float32, 2)
    tlx.local_store(tile[0], tl.load(x_ptr + where))
    indices = tl.load(index_ptr + where)
    value = tlx.local_gather(tile[0], indices, 1)
    tlx.local_scatter(tile[1], value * 2, indices, 1)
    tl.store(out_ptr + where, value)
    tl.store(out_ptr + BLOCK * BLOCK + where, tlx.local_load(tile[1]))


@tw.jit
def from_registers(a_ptr, b_ptr, c_ptr):
    """The left operand of an MMA in registers, the right one a transposed view."""
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    b = tlx.local_alloc((64, 64), tl.float16, 1)
    tlx.local_store(b[0], tl.load(b_ptr + rows * 64 + columns))
    tlx.fence_async_shared()
    a = tl.load(a_ptr + rows * 64 + columns)
    acc = tlx.async_dot(a, tlx.local_trans(b[0]), tl.zeros((64, 64), dtype=tl.float32))
    acc = tlx.async_dot_wait(0, acc)
    tl.store(c_ptr + rows * 64 + columns, acc)


@tw.jit
def bulk(x_ptr, out_ptr, BLOCK: tl.constexpr):
    """Bulk copies in and out."""
    row = tlx.local_alloc((BLOCK,), tl.float32, 1)
    full = tlx.alloc_barriers(1)
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tlx.barrier_expect_bytes(full[0], BLOCK * 4)
    tlx.async_load(x_ptr + lane, row[0], bulk=True, bulk_size=BLOCK * 4, barrier=full[0])
    tlx.barrier_wait(full[0], 0)
    tlx.async_store(out_ptr + tl.program_id(0) * BLOCK, row[0], BLOCK * 4)
    tlx.async_descriptor_store_wait(0)


@tw.jit
def described_on_device(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    """Two descriptors in memory of the program, read back by number."""
    place = tlx.allocate_tensor_descriptor(2)
    tlx.make_tensor_descriptor(place[0], x_ptr, [N, N], [N, 1], [BLOCK, BLOCK])
    tlx.make_tensor_descriptor(place[1], out_ptr, [N, N], [N, 1], [BLOCK, BLOCK])
    source = tlx.reinterpret_tensor_descriptor(place[0], [BLOCK, BLOCK], tl.float32)
    target = tlx.reinterpret_tensor_descriptor(place[1], [BLOCK, BLOCK], tl.float32)
    target.store([0, BLOCK], source.load([BLOCK, 0]) + 1)


@tw.jit
def described_again(x_ptr, out_ptr, N: tl.constexpr):
    """One address, two descriptors after each other; the first name for it means the second then."""
    place = tlx.allocate_tensor_descriptor(1)
    where = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tlx.make_tensor_descriptor(place[0], x_ptr, [N, N], [N, 1], [N, N])
    first = tlx.reinterpret_tensor_descriptor(place[0], [N, N], tl.float32)
    tl.store(out_ptr + where, first.load([0, 0]))
    tlx.make_tensor_descriptor(place[0], x_ptr + N * N, [N, N], [N, 1], [N, N])
    second = tlx.reinterpret_tensor_descriptor(place[0], [N, N], tl.float32)
    tl.store(out_ptr + N * N + where, second.load([0, 0]))
    tl.store(out_ptr + 2 * N * N + where, first.load([0, 0]))


@tw.jit
def whoever_is_last(out_ptr):
    """Two tasks write one element, and nothing orders them."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.store(out_ptr, 1)
        with tlx.async_task(num_warps=4):
            tl.store(out_ptr, 2)


@tw.jit
def summed(out_ptr):
    """Two tasks add to one element, in any order."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(8):
                tl.atomic_add(out_ptr, 0.1 * i)
        with tlx.async_task(num_warps=4):
            for i in range(8):
                tl.atomic_add(out_ptr, 1.7 * i)


@tw.jit
def talkative(bar_count: tl.constexpr):
    """The second task speaks after the first."""
    bars = tlx.alloc_barriers(1, arrive_count=bar_count)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tl.device_print("first", tl.program_id(0))
            tlx.barrier_arrive(bars[0], bar_count)
        with tlx.async_task(num_warps=4):
            tlx.barrier_wait(bars[0], 0)
            tl.device_print("second", tl.program_id(0))


@tw.jit
def reused(x_ptr, out_ptr):
    """A buffer in the bytes of another one, the older way: the larger one decides the size."""
    lane = tl.arange(0, 64)
    small = tlx.local_alloc((32,), tl.int32, 1)
    large = tlx.local_alloc((64,), tl.int32, 2, reuse=small)
    tlx.local_store(large[0], tl.load(x_ptr + lane))
    tlx.local_store(large[1], tl.load(x_ptr + lane) * 10)
    tl.store(out_ptr + tl.arange(0, 32), tlx.local_load(small[0]))
    tl.store(out_ptr + 32 + lane, tlx.local_load(large[1]))


@tw.jit
def overrun(x_ptr, index):
    """A buffer that is not there."""
    buffers = tlx.local_alloc((32,), tl.float32, 3)
    tlx.local_store(buffers[index], tl.load(x_ptr + tl.arange(0, 32)))


@tw.jit
def _returns_early(buffer, count):
    if count > 3:
        return
    tlx.local_store(buffer, tlx.local_load(buffer) + 1)


@tw.jit
def calls_with_jumps(out_ptr, count):
    """A function that works on a buffer, and has two returns."""
    buffer = tlx.local_alloc((32,), tl.int32, 1)
    tlx.local_store(buffer[0], tl.arange(0, 32))
    _returns_early(buffer[0], count)
    tl.store(out_ptr + tl.arange(0, 32), tlx.local_load(buffer[0]))
