"""Blackwell kernels in `tlx`: tensor memory, pairs of CTAs, dynamic tiles, aliased storage."""

from __future__ import annotations

import tilewright as tw
from tilewright import tl, tlx


@tw.jit
def gemm_tensor_memory(
    a_desc, b_desc, c_desc, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Producer, MMA issuer, and an epilogue that stages the result."""
    a = tlx.local_alloc((BLOCK_M, BLOCK_K), tl.float16, STAGES)
    b = tlx.local_alloc((BLOCK_K, BLOCK_N), tl.float16, STAGES)
    c = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float16, 1)
    acc = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(STAGES)
    empty = tlx.alloc_barriers(STAGES)
    done = tlx.alloc_barriers(1)
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    with tlx.async_tasks():
        with tlx.async_task("default"):
            tlx.barrier_wait(done[0], 0)
            value = tlx.local_load(acc[0])
            tlx.local_store(c[0], value.to(tl.float16))
            tlx.fence_async_shared()
            tlx.async_descriptor_store(c_desc, c[0], [row, column])
            tlx.async_descriptor_store_wait(0)
        with tlx.async_task(num_warps=1):
            for k in range(tl.cdiv(K, BLOCK_K)):
                stage = k % STAGES
                phase = (k // STAGES) & 1
                tlx.barrier_wait(full[stage], phase)
                tlx.async_dot(a[stage], b[stage], acc[0], use_acc=k > 0, mBarriers=[empty[stage]])
            tlx.tcgen05_commit(done[0])
        with tlx.async_task(num_warps=1):
            for k in range(tl.cdiv(K, BLOCK_K)):
                stage = k % STAGES
                phase = (k // STAGES) & 1
                tlx.barrier_wait(empty[stage], phase ^ 1)
                tlx.barrier_expect_bytes(full[stage], (BLOCK_M + BLOCK_N) * BLOCK_K * 2)
                tlx.async_descriptor_load(a_desc, a[stage], [row, k * BLOCK_K], full[stage])
                tlx.async_descriptor_load(b_desc, b[stage], [k * BLOCK_K, column], full[stage])


@tw.jit
def gemm_pair(
    a_desc, b_desc, c_desc, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    """Two CTAs with half of the rows each; each loads half of the columns of B."""
    a = tlx.local_alloc((BLOCK_M, BLOCK_K), tl.float16, 1)
    b = tlx.local_alloc((BLOCK_K, BLOCK_N // 2), tl.float16, 1)
    acc = tlx.local_alloc((BLOCK_M, BLOCK_N), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(1, arrive_count=2)
    done = tlx.alloc_barriers(1)
    loaded = tlx.alloc_barriers(1)
    rank = tlx.cluster_cta_rank()
    is_first = rank % 2 == 0
    row = tl.program_id(0) * BLOCK_M
    column = tl.program_id(1) * BLOCK_N
    tlx.cluster_barrier()
    for k in range(tl.cdiv(K, BLOCK_K)):
        phase = k & 1
        tlx.barrier_expect_bytes(loaded[0], (BLOCK_M + BLOCK_N // 2) * BLOCK_K * 2)
        tlx.async_descriptor_load(a_desc, a[0], [row, k * BLOCK_K], loaded[0])
        tlx.async_descriptor_load(
            b_desc, b[0], [k * BLOCK_K, column + rank * (BLOCK_N // 2)], loaded[0]
        )
        tlx.barrier_wait(loaded[0], phase)
        tlx.barrier_arrive(full[0], 1, rank & ~1)
        tlx.barrier_wait(full[0], phase, pred=is_first)
        tlx.async_dot(
            a[0], b[0], acc[0], use_acc=k > 0, pred=is_first, mBarriers=[done[0]], two_ctas=True
        )
        tlx.barrier_wait(done[0], phase)
    value = tlx.local_load(acc[0])
    c_desc.store([row, column], value.to(tl.float16))
    tlx.cluster_barrier()


@tw.jit
def dynamic_tiles(out_ptr, counts_ptr):
    """Programs take over the work of those that have not started; each tile is done once."""
    context = tlx.clc_create_context(1)
    tile = tl.program_id(0)
    phase_producer = 1
    phase_consumer = 0
    while tile != -1:
        tlx.clc_producer(context, phase_producer, multi_ctas=False)
        phase_producer ^= 1
        tl.store(out_ptr + tile, tl.program_id(0) * 100 + tile)
        tl.atomic_add(counts_ptr + tile, 1)
        tile = tlx.clc_consumer(context, phase_consumer, multi_ctas=False)
        phase_consumer ^= 1


@tw.jit
def shared_columns(x_ptr, out_ptr, ALIASED: tl.constexpr):
    """P aliases S: reading S after P was written gives other bits."""
    spec = tlx.storage_alias_spec(storage=tlx.storage_kind.tmem)
    s = tlx.local_alloc((128, 64), tl.float32, 1, tlx.storage_kind.tmem, reuse=spec)
    p = tlx.local_alloc((128, 64), tl.float16, 1, tlx.storage_kind.tmem, reuse=spec)
    if ALIASED:
        spec.set_buffer_overlap(tlx.reuse_group(s, p, group_type=tlx.reuse_group_type.shared))
    else:
        spec.set_buffer_overlap(tlx.reuse_group(s, p, group_type=tlx.reuse_group_type.distinct))
    rows, columns = tl.arange(0, 128)[:, None], tl.arange(0, 64)[None, :]
    where = rows * 64 + columns
    tlx.local_store(s[0], tl.load(x_ptr + where))
    value = tlx.local_load(s[0])
    tlx.local_store(p[0], value.to(tl.float16))
    tl.store(out_ptr + where, tlx.local_load(s[0]))
    tl.store(out_ptr + 128 * 64 + where, tlx.local_load(p[0]).to(tl.float32))


@tw.jit
def scaled_product(
    a_desc, b_desc, a_scale_ptr, b_scale_ptr, out_ptr,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, COPIES: tl.constexpr,
):  # fmt: skip
    """Scale factors in blocks of 128 x 4, in shared memory or copied to tensor memory."""
    a = tlx.local_alloc((M, K), tl.float8e4nv, 1)
    b = tlx.local_alloc((K, N), tl.float8e4nv, 1)
    left = tlx.local_alloc((1, M // 128, K // 128, 2, 256), tl.uint8, 1)
    right = tlx.local_alloc((1, N // 128, K // 128, 2, 256), tl.uint8, 1)
    acc = tlx.local_alloc((M, N), tl.float32, 1, tlx.storage_kind.tmem)
    full = tlx.alloc_barriers(1)
    done = tlx.alloc_barriers(1)
    tlx.barrier_expect_bytes(full[0], (M + N) * K)
    tlx.async_descriptor_load(a_desc, a[0], [0, 0], full[0])
    tlx.async_descriptor_load(b_desc, b[0], [0, 0], full[0])
    one = tl.load(a_scale_ptr + tl.arange(0, M * K // 32))
    tlx.local_store(left[0], tl.reshape(one, (1, M // 128, K // 128, 2, 256)))
    other = tl.load(b_scale_ptr + tl.arange(0, N * K // 32))
    tlx.local_store(right[0], tl.reshape(other, (1, N // 128, K // 128, 2, 256)))
    tlx.fence_async_shared()
    tlx.barrier_wait(full[0], 0)
    if COPIES:
        one_tmem = tlx.local_alloc((M, K // 32), tl.uint8, 1, tlx.storage_kind.tmem)
        other_tmem = tlx.local_alloc((N, K // 32), tl.uint8, 1, tlx.storage_kind.tmem)
        tlx.tmem_copy(left[0], one_tmem[0])
        tlx.tmem_copy(right[0], other_tmem[0])
        tlx.async_dot_scaled(
            a[0], b[0], acc[0], one_tmem[0], "e4m3", other_tmem[0], "e4m3",
            use_acc=False, mBarriers=[done[0]],
        )  # fmt: skip
    else:
        tlx.async_dot_scaled(
            a[0], b[0], acc[0], left[0], "e4m3", right[0], "e4m3",
            use_acc=False, mBarriers=[done[0]],
        )  # fmt: skip
    tlx.barrier_wait(done[0], 0)
    rows, columns = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    tl.store(out_ptr + rows * N + columns, tlx.local_load(acc[0]))


@tw.jit
def views(x_ptr, out_ptr):
    """Parts, shapes and types of one buffer: in shared memory, then in tensor memory."""
    rows, columns = tl.arange(0, 64)[:, None], tl.arange(0, 64)[None, :]
    tile = tlx.local_alloc((64, 64), tl.float32, 1)
    tlx.local_store(tile[0], tl.load(x_ptr + rows * 64 + columns))
    turned = tlx.local_load(tlx.local_trans(tile[0]))
    tl.store(out_ptr + rows * 64 + columns, turned)
    corner = tlx.local_slice(tile[0], [32, 16], [32, 16])
    few_rows, few_columns = tl.arange(0, 32)[:, None], tl.arange(0, 16)[None, :]
    tl.store(out_ptr + 4096 + few_rows * 16 + few_columns, tlx.local_load(corner))
    flat = tlx.local_reshape(tile[0], [32, 128])
    wide = tl.arange(0, 32)[:, None] * 128 + tl.arange(0, 128)[None, :]
    tl.store(out_ptr + 8192 + wide, tlx.local_load(flat))
    bits = tlx.local_load(tlx.local_reinterpret(tile[0], tl.int32))
    tl.store(out_ptr + 12288 + rows * 64 + columns, bits.to(tl.float32, bitcast=True))
    acc = tlx.local_alloc((128, 64), tl.float32, 2, tlx.storage_kind.tmem)
    tall = tl.arange(0, 128)[:, None]
    left = tlx.subslice(acc[1], 0, 32)
    right = tlx.local_slice(acc[1], [0, 32], [128, 32])
    narrow = tl.arange(0, 32)[None, :]
    tlx.local_store(left, (tall * 100 + narrow).to(tl.float32))
    tlx.local_store(right, (tall * 100 + narrow + 32).to(tl.float32))
    tl.store(out_ptr + 16384 + tall * 64 + columns, tlx.local_load(acc[1]))
