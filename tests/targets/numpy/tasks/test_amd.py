"""Ops of AMD GPUs on the host: values, and what a run reports."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tilewright import tl, tlx
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.numpy.api import NumpyFault

GFX950 = "hip:gfx950"


def launch(kernel: tw.JITFunction, *arguments: object, target: str = GFX950, **options: object):
    with tw.running(target=target, schedules=4):
        kernel[(1,)](*arguments, **options)


# -- buffer accesses -----------------------------------------------------------------------------


@tw.jit
def accesses(x_ptr, out_ptr, total_ptr, n):
    lanes = tl.arange(0, 64)
    inside = lanes < n
    plain = tlx.buffer_load(x_ptr, lanes)
    zero = tlx.buffer_load(x_ptr, lanes, mask=inside)
    other = tlx.buffer_load(x_ptr, lanes, mask=inside, other=7.0, cache=".cg", contiguity=4)
    tlx.buffer_store(plain, out_ptr, lanes)
    tlx.buffer_store(zero + other, out_ptr, lanes + 64)
    tlx.buffer_store(plain, out_ptr, lanes + 128, mask=inside)
    before = tlx.buffer_atomic_add(total_ptr, lanes // 2, plain, mask=inside)
    tlx.buffer_store(before, out_ptr, lanes + 192, mask=inside)


def test_buffer_accesses():
    x = np.arange(1, 65, dtype=np.float32)
    out, totals = np.full(256, -1, np.float32), np.zeros(32, np.float32)
    launch(accesses, x, out, totals, 40)
    inside = np.arange(64) < 40
    np.testing.assert_array_equal(out[:64], x)
    np.testing.assert_array_equal(out[64:128], np.where(inside, 2 * x, 7))
    np.testing.assert_array_equal(out[128:192], np.where(inside, x, -1))
    np.testing.assert_array_equal(totals, np.where(inside, x, 0).reshape(32, 2).sum(1))
    # Lane follows lane: the second of a pair finds what the first one added.
    found = np.where(np.arange(64) % 2, np.roll(x, 1), 0)
    np.testing.assert_array_equal(out[192:], np.where(inside, found, -1))


def test_an_offset_past_the_array_is_reported_at_its_line():
    x, out, totals = np.ones(60, np.float32), np.ones(256, np.float32), np.zeros(32, np.float32)
    with pytest.raises(NumpyFault) as found:
        launch(accesses, x, out, totals, 40)
    assert "out of bounds" in str(found.value)
    assert "plain = tlx.buffer_load(x_ptr, lanes)" in str(found.value)


# -- copies to LDS -------------------------------------------------------------------------------


@tw.jit
def ring(x_ptr, out_ptr, n, WAIT: tl.constexpr, BLOCKS: tl.constexpr):
    lanes = tl.arange(0, 64)
    box = tlx.local_alloc((64,), tl.float32, 2)
    for block in tl.static_range(0, BLOCKS):
        at = lanes + block * 64
        tlx.buffer_load_to_local(box[block % 2], x_ptr, at, mask=at < n)
        tlx.async_load_commit_group()
        if block > 0:
            tlx.async_load_wait_group(WAIT)
            value = tlx.local_load(box[(block - 1) % 2], relaxed=True)
            tl.store(out_ptr + at - 64, value)
    tlx.async_load_wait_group(0)
    tl.store(out_ptr + lanes + (BLOCKS - 1) * 64, tlx.local_load(box[(BLOCKS - 1) % 2]))


def test_copies_to_lds_in_groups():
    x, out = np.arange(1, 257, dtype=np.float32), np.full(256, -1, np.float32)
    launch(ring, x, out, 250, WAIT=1, BLOCKS=4)
    # What is masked off is filled with 0, as the hardware does.
    np.testing.assert_array_equal(out, np.where(np.arange(256) < 250, x, 0))


def test_a_wait_for_too_few_groups_is_reported():
    x, out = np.ones(256, np.float32), np.zeros(256, np.float32)
    with pytest.raises(NumpyFault) as found:
        launch(ring, x, out, 256, WAIT=2, BLOCKS=4)
    text = str(found.value)
    assert "TW6120" in text or "TW6107" in text or "TW6117" in text, text
    assert "tlx.local_load(box[(block - 1) % 2], relaxed=True)" in text


@tw.jit
def large(out_ptr, ROWS: tl.constexpr):
    box = tlx.local_alloc((ROWS, 128), tl.float16, 1)
    tlx.local_store(box[0], tl.zeros((ROWS, 128), tl.float16))
    value = tlx.local_load(box[0])
    tl.store(out_ptr + tl.arange(0, ROWS), tl.sum(value, 1))


def test_lds_is_as_large_as_that_of_the_gpu():
    out = np.ones(512, np.float16)
    launch(large, out, ROWS=256, target="hip:gfx942")  # 64 KiB
    launch(large, out, ROWS=512, target="hip:gfx950")
    with pytest.raises(CompileError, match="131072 bytes needed, 65536 available on gfx942"):
        launch(large, out, ROWS=512, target="hip:gfx942")


# -- matrix instructions, registers, schedules ---------------------------------------------------


@tw.jit
def scheduled(a_ptr, b_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    where = at[:, None] * N + at[None, :]
    mma: tl.constexpr = tlx.amd_mfma_layout(
        version=4, instr_shape=[16, 16, 32], transposed=True, warps_per_cta=[2, 2]
    )
    left: tl.constexpr = tlx.dot_operand_layout(0, mma, 8)
    right: tl.constexpr = tlx.dot_operand_layout(1, mma, 8)
    a = tlx.require_layout(tlx.buffer_load(a_ptr, where), left)
    b = tlx.require_layout(tlx.buffer_load(b_ptr, where), right)
    b = tlx.amd_register_resident(b, "agpr", 4)
    acc = tlx.zeros((N, N), tl.float32, layout=mma)
    for _ in tl.range(0, 3):
        with tlx.warp_pipeline_stage("mfma", priority=1):
            acc = tlx.amd_scheduled_mfma(a, b, acc, "persistent", resident_operand=1)
        with tlx.warp_pipeline_stage("mem"):
            tlx.amd_sched_barrier(2)
    fresh = tlx.amd_scheduled_mfma(a, b, acc, "transient", initialize=True)
    acc, fresh = tlx.amd_mfma_commit((acc, fresh))
    fresh = tlx.amd_register_handoff(fresh, "vgpr")
    half = tlx.extract_slice(acc, (N // 2, N), (N // 2, 0))
    rows = tlx.rematerialized_range(0, N // 2, 0)
    there = rows[:, None] * N + at[None, :]
    tlx.buffer_store(half, out_ptr, there)
    tl.store(out_ptr + N * N // 2 + where, tlx.release_layout(fresh))


def test_scheduled_matrix_instructions_and_slices():
    n = 32
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (n, n)).astype(np.float16) for _ in range(2))
    out = np.zeros(n * n * 3 // 2, np.float32)
    launch(scheduled, a, b, out, N=n)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(out[: n * n // 2].reshape(n // 2, n), 3 * expected[n // 2 :])
    np.testing.assert_array_equal(out[n * n // 2 :].reshape(n, n), expected)


@tw.jit
def uniform(x_ptr, out_ptr, n):
    lanes = tl.arange(0, 64)
    tlx.amd_sched_barrier(2)
    shift = tlx.assume_uniform(n)
    tl.store(out_ptr + lanes, tl.load(x_ptr + lanes) + shift)


def test_hints_change_nothing():
    x, out = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    launch(uniform, x, out, 5)
    np.testing.assert_array_equal(out, x + 5)


# -- the tensor data mover -----------------------------------------------------------------------


@tw.jit
def doubles_blocks(x_ptr, out_ptr, rows, WAIT: tl.constexpr):
    box = tlx.local_alloc((8, 16), tl.float32, 2)
    source = tl.make_tensor_descriptor(x_ptr, [rows, 16], [16, 1], [8, 16])
    target = tl.make_tensor_descriptor(out_ptr, [rows, 16], [16, 1], [8, 16])
    blocks = tl.cdiv(rows, 8)
    tlx.async_amd_descriptor_load(source, box[0], [0, 0])
    for block in tl.range(0, blocks):
        more = block + 1 < blocks
        tlx.async_amd_descriptor_load(source, box[(block + 1) % 2], [8 * block + 8, 0], pred=more)
        tlx.amd_descriptor_prefetch_tensor(source, [8 * block + 16, 0], pred=more)
        tlx.async_amd_descriptor_wait(WAIT)
        tlx.local_store(box[block % 2], 2 * tlx.local_load(box[block % 2]))
        tlx.async_amd_descriptor_store(target, box[block % 2], [8 * block, 0])
        tlx.async_amd_descriptor_wait(0)


def test_tensor_copies_are_counted_and_clipped():
    # The last block has 4 rows; a copy that is predicated off counts and does nothing.
    x, out = np.arange(320, dtype=np.float32).reshape(20, 16), np.full((24, 16), -1, np.float32)
    launch(doubles_blocks, x, out[:20], 20, WAIT=1, target="hip:gfx1250")
    np.testing.assert_array_equal(out, np.concatenate([2 * x, np.full((4, 16), -1)]))
    with pytest.raises(NumpyFault, match=r"while the tensor copy into box\[0\] still writes"):
        launch(doubles_blocks, x, out[:20], 20, WAIT=2, target="hip:gfx1250")


# -- what does not run ---------------------------------------------------------------------------


@tw.jit
def moves_together(x_ptr, out_ptr):
    lanes = tl.arange(0, 64)
    box = tlx.local_alloc((1, 64), tl.float32, 2)
    source = tl.make_tensor_descriptor(x_ptr, [1, 64], [64, 1], [1, 64])
    tlx.async_amd_descriptor_load_fused([(source, box[0], 1), (source, box[1], 2)])
    tlx.async_amd_descriptor_wait(0)
    tl.store(out_ptr + lanes, tl.sum(tlx.local_load(box[0]), 0))


def test_an_op_that_does_not_run_is_named_with_its_line():
    x, out = np.ones(64, np.float32), np.zeros(64, np.float32)
    with pytest.raises(CompileError) as found:
        launch(moves_together, x, out, target="hip:gfx1250")
    text = str(found.value)
    op = "amdg.async_tdm_fused_copy_global_to_local"
    assert f"AMD op '{op}' is not supported on target numpy" in text
    assert "tlx.async_amd_descriptor_load_fused([(source, box[0], 1), (source, box[1], 2)])" in text
    assert "test_amd.py:" in text
    assert not out.any()
