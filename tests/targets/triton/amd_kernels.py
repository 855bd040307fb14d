"""GEMMs with `tlx` for AMD GPUs: operands staged through registers, or copied to LDS directly."""

from __future__ import annotations

from typing import Any

import numpy as np

import tilewright as tw
from tilewright import tl, tlx

Array = Any


@tw.jit
def staged_gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    M_TILE: tl.constexpr,
    N_TILE: tl.constexpr,
    K_TILE: tl.constexpr,
    DEPTH: tl.constexpr,
):
    """Global memory, registers, a ring in LDS, MFMA."""
    rows = tl.program_id(0) * M_TILE + tl.arange(0, M_TILE)
    columns = tl.program_id(1) * N_TILE + tl.arange(0, N_TILE)
    depth = tl.arange(0, K_TILE)
    a_ptrs = a_ptr + rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_ptrs = b_ptr + depth[:, None] * stride_bk + columns[None, :] * stride_bn
    a_ring = tlx.local_alloc((M_TILE, K_TILE), tlx.dtype_of(a_ptr), DEPTH)
    b_ring = tlx.local_alloc((K_TILE, N_TILE), tlx.dtype_of(b_ptr), DEPTH)
    tlx.local_store(a_ring[0], tl.load(a_ptrs))
    tlx.local_store(b_ring[0], tl.load(b_ptrs))
    acc = tl.zeros((M_TILE, N_TILE), tl.float32)
    steps = tl.cdiv(K, K_TILE)
    for step in tl.range(1, steps, num_stages=1):
        a_next = tl.load(a_ptrs + step * K_TILE * stride_ak)
        b_next = tl.load(b_ptrs + step * K_TILE * stride_bk)
        a = tlx.local_load(a_ring[(step - 1) % DEPTH])
        b = tlx.local_load(b_ring[(step - 1) % DEPTH])
        acc = tl.dot(a, b, acc)
        tlx.local_store(a_ring[step % DEPTH], a_next)
        tlx.local_store(b_ring[step % DEPTH], b_next)
    last = (steps - 1) % DEPTH
    acc = tl.dot(tlx.local_load(a_ring[last]), tlx.local_load(b_ring[last]), acc)
    tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :], acc.to(tlx.dtype_of(c_ptr)))


@tw.jit
def direct_gemm(
    a_ptr,
    b_ptr,
    c_ptr,
    K,
    stride_am,
    stride_ak,
    stride_bk,
    stride_bn,
    stride_cm,
    M_TILE: tl.constexpr,
    N_TILE: tl.constexpr,
    K_TILE: tl.constexpr,
    WAIT: tl.constexpr,
):
    """Global memory to LDS without registers, in stages of alternating waves."""
    rows = tl.program_id(0) * M_TILE + tl.arange(0, M_TILE)
    columns = tl.program_id(1) * N_TILE + tl.arange(0, N_TILE)
    depth = tl.arange(0, K_TILE)
    a_at = rows[:, None] * stride_am + depth[None, :] * stride_ak
    b_at = depth[:, None] * stride_bk + columns[None, :] * stride_bn
    a_ring = tlx.local_alloc((M_TILE, K_TILE), tlx.dtype_of(a_ptr), 2)
    b_ring = tlx.local_alloc((K_TILE, N_TILE), tlx.dtype_of(b_ptr), 2)
    tlx.buffer_load_to_local(a_ring[0], a_ptr, a_at)
    tlx.buffer_load_to_local(b_ring[0], b_ptr, b_at)
    tlx.async_load_commit_group()
    acc = tl.zeros((M_TILE, N_TILE), tl.float32)
    steps = tl.cdiv(K, K_TILE)
    for step in tl.range(1, steps, num_stages=1):
        with tlx.warp_pipeline_stage("copy", priority=1):
            tlx.buffer_load_to_local(a_ring[step % 2], a_ptr, a_at + step * K_TILE * stride_ak)
            tlx.buffer_load_to_local(b_ring[step % 2], b_ptr, b_at + step * K_TILE * stride_bk)
            tlx.async_load_commit_group()
        tlx.async_load_wait_group(WAIT)
        with tlx.warp_pipeline_stage("mfma", priority=0):
            a = tlx.local_load(a_ring[(step - 1) % 2], relaxed=True)
            b = tlx.local_load(b_ring[(step - 1) % 2], relaxed=True)
            acc = tl.dot(a, b, acc)
    tlx.async_load_wait_group(0)
    a = tlx.local_load(a_ring[(steps - 1) % 2], relaxed=True)
    b = tlx.local_load(b_ring[(steps - 1) % 2], relaxed=True)
    acc = tl.dot(a, b, acc)
    at = rows[:, None] * stride_cm + columns[None, :]
    tlx.buffer_store(acc.to(tlx.dtype_of(c_ptr)), c_ptr, at)


@tw.jit
def pinned_gemm(a_ptr, b_ptr, c_ptr, TILE: tl.constexpr, VERSION: tl.constexpr):
    """One tile in layouts and registers that the kernel chooses."""
    mma: tl.constexpr = tlx.amd_mfma_layout(
        version=VERSION, instr_shape=[16, 16, 16], transposed=True, warps_per_cta=[2, 2]
    )
    left: tl.constexpr = tlx.dot_operand_layout(0, mma, 4)
    right: tl.constexpr = tlx.dot_operand_layout(1, mma, 4)
    at = tlx.rematerialized_range(0, TILE, 0)
    where = at[:, None] * TILE + at[None, :]
    a = tlx.require_layout(tlx.buffer_load(a_ptr, where), left)
    b = tlx.require_layout(tlx.buffer_load(b_ptr, where), right)
    b = tlx.amd_register_resident(b, "agpr", 4)
    acc = tlx.zeros((TILE, TILE), tl.float32, layout=mma)
    acc = tlx.amd_scheduled_mfma(a, b, acc, "persistent", resident_operand=1)
    acc = tlx.amd_mfma_commit(acc)
    tlx.amd_sched_barrier(0)
    # A tensor with a layout and one without.
    tl.store(c_ptr + where, acc + at[None, :])


def strides(array: Array) -> tuple[int, int]:
    """Strides in elements."""
    rows, columns = array.strides
    return rows // array.itemsize, columns // array.itemsize


def operands(
    rng: np.random.Generator, m: int, n: int, k: int, *, transposed: bool
) -> tuple[Array, Array, Array, Array]:
    """A, B (of which K is contiguous if `transposed`), a result to fill, and the result."""
    a = rng.integers(-3, 4, (m, k)).astype(np.float16)
    b = rng.integers(-3, 4, (n, k) if transposed else (k, n)).astype(np.float16)
    b = b.T if transposed else b
    return a, b, np.empty((m, n), np.float16), a.astype(np.float32) @ b.astype(np.float32)


def arguments(a: Array, b: Array, c: Array) -> tuple[Any, ...]:
    """What both GEMMs take."""
    return (a, b, c, a.shape[1], *strides(a), *strides(b), strides(c)[0])
