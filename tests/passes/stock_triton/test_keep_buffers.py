"""Bytes that an engine still reads or writes are given to nobody else."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl, tlx

pytest.importorskip("triton", reason="kernels are compiled by Triton, which is not installed")

SIZE = tl.constexpr(64)
TILE_BYTES = 64 * 64 * 4
OPERANDS_BYTES = 2 * 64 * 64 * 2


@tw.jit
def product(a, b, c, WORK: tl.constexpr):
    left = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    right = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    at = tl.arange(0, SIZE)
    at = at[:, None] * SIZE + at[None, :]
    tlx.local_store(left[0], tl.load(a + at))
    tlx.local_store(right[0], tl.load(b + at))
    tlx.fence_async_shared()
    other = tl.load(c + at)
    result = tlx.async_dot(left[0], right[0])
    if WORK == "between":
        tl.store(c + at, tl.trans(other))
    result = tlx.async_dot_wait(0, result)
    if WORK == "behind":
        tl.store(c + at, tl.trans(other))
    tl.store(a + at, result.to(tl.float16))


@tw.jit
def looped(a, b, c, n):
    left = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    right = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    at = tl.arange(0, SIZE)
    at = at[:, None] * SIZE + at[None, :]
    tlx.local_store(left[0], tl.load(a + at))
    tlx.local_store(right[0], tl.load(b + at))
    tlx.fence_async_shared()
    other = tl.load(c + at)
    result = tl.zeros((SIZE, SIZE), tl.float32)
    for _ in range(n):
        result = tlx.async_dot(left[0], right[0], result)
        tl.store(c + at, tl.trans(other))
        result = tlx.async_dot_wait(1, result)
    result = tlx.async_dot_wait(0, result)
    tl.store(c + at, result)


@tw.jit
def copied(desc, c, WAIT_FIRST: tl.constexpr):
    tile = tlx.local_alloc((SIZE, SIZE), tl.float32, 1)
    at = tl.arange(0, SIZE)
    at = at[:, None] * SIZE + at[None, :]
    value = tl.load(c + at)
    tlx.local_store(tile[0], value)
    tlx.fence_async_shared()
    tlx.async_descriptor_store(desc, tile[0], [0, 0])
    if WAIT_FIRST:
        tlx.async_descriptor_store_wait(0)
    tl.store(c + at, tl.trans(value))
    if not WAIT_FIRST:
        tlx.async_descriptor_store_wait(0)


@tw.jit
def returning(a, b, c, n):
    left = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    right = tlx.local_alloc((SIZE, SIZE), tl.float16, 1)
    at = tl.arange(0, SIZE)
    at = at[:, None] * SIZE + at[None, :]
    tlx.local_store(left[0], tl.load(a + at))
    tlx.local_store(right[0], tl.load(b + at))
    tlx.fence_async_shared()
    other = tl.load(c + at)
    result = tlx.async_dot(left[0], right[0])
    if n == 3:
        return
    tl.store(c + at, tl.trans(other))
    tl.store(c + at, tlx.async_dot_wait(0, result))


def operands():
    return [np.ones((64, 64), kind) for kind in (np.float16, np.float16, np.float32)]


def compiled_for_hopper(kernel, *arguments):
    compiled = kernel.warmup(*arguments, target="triton:sm_90")
    deallocations = compiled.text("ttgir").count("ttg.local_dealloc")
    return deallocations, compiled.artefact.metadata.shared


@pytest.mark.parametrize(
    ("work", "deallocations", "shared"),
    [
        ("between", 2, OPERANDS_BYTES + TILE_BYTES),
        ("behind", 0, TILE_BYTES),
    ],
)
def test_operands_of_a_product_that_is_not_waited_for(work, deallocations, shared):
    found = compiled_for_hopper(product, *operands(), work)
    assert found == (deallocations, shared)


def test_buffers_live_as_long_as_a_loop_that_uses_them():
    deallocations, shared = compiled_for_hopper(looped, *operands(), 3)
    assert deallocations == 0
    assert shared == OPERANDS_BYTES + TILE_BYTES  # the loop's scratch memory lies beside them


def test_blocks_that_follow_are_taken_to_need_memory():
    deallocations, shared = compiled_for_hopper(returning, *operands(), 2)
    assert deallocations == 4  # two buffers, two returns
    assert shared == OPERANDS_BYTES + TILE_BYTES


@pytest.mark.parametrize(
    ("wait_first", "deallocations", "shared"),
    [(False, 1, 2 * TILE_BYTES), (True, 0, TILE_BYTES)],
)
def test_what_a_store_of_the_copy_engine_reads(wait_first, deallocations, shared):
    out = np.empty((64, 64), np.float32)
    descriptor = tw.TensorDescriptor.from_tensor(out, [64, 64])
    found = compiled_for_hopper(copied, descriptor, operands()[2], wait_first)
    assert found == (deallocations, shared)
