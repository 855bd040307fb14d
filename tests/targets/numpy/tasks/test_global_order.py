"""Accesses to global memory by tasks and asynchronous units: unordered ones are found, no others."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.tasks import hopper_kernels as kernels
from tilewright import tl, tlx
from tilewright.targets.numpy.tasks.ordering import OrderingFault, OrderingLog

SEEDS = (0, 1, 5)


@tw.jit
def through_memory(x_desc, x_ptr, out_ptr, WAIT: tl.constexpr, FENCE: tl.constexpr):
    """A TMA store, and a load of the same elements by threads."""
    tile = tlx.local_alloc((16, 32), tl.float32, 1)
    where = tl.arange(0, 16)[:, None] * 32 + tl.arange(0, 32)[None, :]
    tlx.local_store(tile[0], where.to(tl.float32))
    tlx.fence_async_shared()
    tlx.async_descriptor_store(x_desc, tile[0], [0, 0])
    if WAIT:
        tlx.async_descriptor_store_wait(0)
    if FENCE != "":
        tlx.fence(FENCE)
    tl.store(out_ptr + where, tl.load(x_ptr + where))
    tlx.async_descriptor_store_wait(0)


def run_through_memory(seed: int, wait: bool, fence: str) -> np.ndarray:
    x, out = np.zeros((16, 32), np.float32), np.zeros((16, 32), np.float32)
    desc = tw.TensorDescriptor.from_tensor(x, [16, 32])
    with tw.running(seed=seed, recorder=OrderingLog().recorder):
        through_memory[(1,)](desc, x, out, wait, fence)
    return out


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fence", ["gpu", "sys"])
def test_a_wait_and_a_fence_are_enough(seed: int, fence: str) -> None:
    expected = np.arange(512, dtype=np.float32).reshape(16, 32)
    np.testing.assert_array_equal(run_through_memory(seed, wait=True, fence=fence), expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fence", ["", "async_shared"])
def test_a_wait_alone_is_not(seed: int, fence: str) -> None:
    with pytest.raises(OrderingFault) as found:
        run_through_memory(seed, wait=True, fence=fence)
    text = str(found.value)
    assert [each.kind for each in found.value.findings] == ["fence"]
    assert "read of x_ptr by default covers 2048 bytes of global memory" in text
    assert "the TMA store of tile[0], issued by default" in text
    assert "tl.store(out_ptr + where, tl.load(x_ptr + where))" in text
    assert "tlx.async_descriptor_store(x_desc, tile[0], [0, 0])" in text
    assert 'smallest fix: tlx.fence("gpu") between the wait and this read' in text


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("fence", ["", "gpu"])
def test_without_a_wait_nothing_orders_them(seed: int, fence: str) -> None:
    with pytest.raises(OrderingFault) as found:
        run_through_memory(seed, wait=False, fence=fence)
    (finding,) = found.value.findings
    assert finding.size_bytes == 2048
    text = str(found.value)
    assert "of global memory, and nothing orders them" in text
    assert "the TMA store of tile[0], issued by default" in text
    assert f"schedule with seed {seed}" in text


@pytest.mark.parametrize("seed", SEEDS)
def test_two_tasks_write_one_element(seed: int) -> None:
    out = np.zeros(1, np.int32)
    with (
        pytest.raises(OrderingFault, match="write of out_ptr by") as found,
        tw.running(seed=seed, recorder=OrderingLog().recorder),
    ):
        kernels.whoever_is_last[(1,)](out)
    text = str(found.value)
    assert "tl.store(out_ptr, 1)" in text
    assert "tl.store(out_ptr, 2)" in text


@tw.jit
def handed_on(x_ptr, STEPS: tl.constexpr, PHASES: tl.constexpr):
    """One task counts a cell up, another doubles it, in turns."""
    first = tlx.alloc_barriers(1)
    second = tlx.alloc_barriers(1)
    with tlx.async_tasks():
        with tlx.async_task("default"):
            for i in range(STEPS):
                tlx.barrier_wait(second[0], (i & 1) ^ 1)
                tl.store(x_ptr, tl.load(x_ptr) + 1)
                tlx.barrier_arrive(first[0], 1)
        with tlx.async_task(num_warps=4):
            for i in range(STEPS):
                if PHASES:
                    tlx.barrier_wait(first[0], i & 1)
                tl.store(x_ptr, tl.load(x_ptr) * 2)
                tlx.barrier_arrive(second[0], 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_barriers_order_global_memory_too(seed: int) -> None:
    x = np.zeros(1, np.int32)
    with tw.running(seed=seed, recorder=OrderingLog().recorder):
        handed_on[(1,)](x, 4, True)
    assert x[0] == 30  # ((((0 + 1) * 2 + 1) * 2 + 1) * 2 + 1) * 2
    with pytest.raises(OrderingFault), tw.running(seed=seed, recorder=OrderingLog().recorder):
        handed_on[(1,)](x, 4, False)


def test_atomics_do_not_disturb_each_other() -> None:
    out = np.zeros(1, np.float32)
    with tw.running(schedules=3, recorder=OrderingLog().recorder):
        kernels.summed[(1,)](out)
    np.testing.assert_allclose(out[0], sum(1.8 * i for i in range(8)), rtol=1e-5)


@tw.jit
def halves(x_ptr, out_ptr, SHIFT: tl.constexpr):
    """Tasks that write neighbouring halves of one array."""
    with tlx.async_tasks():
        with tlx.async_task("default"):
            lanes = tl.arange(0, 16)
            tl.store(out_ptr + lanes, tl.load(x_ptr + lanes))
        with tlx.async_task(num_warps=4):
            lanes = tl.arange(0, 16)
            tl.store(out_ptr + 16 - SHIFT + lanes, tl.load(x_ptr + 16 + lanes))


def test_adjacent_blocks_are_no_conflict_and_one_common_element_is() -> None:
    x, out = np.arange(32, dtype=np.int16), np.zeros(32, np.int16)
    with tw.running(recorder=OrderingLog().recorder):
        halves[(1,)](x, out, 0)
        np.testing.assert_array_equal(out, x)
        with pytest.raises(OrderingFault) as found:
            halves[(1,)](x, out, 1)
    assert found.value.findings[0].size_bytes == 2  # one 16-bit element


def test_arrays_that_share_bytes_are_one() -> None:
    x = np.arange(40, dtype=np.int16)
    with (
        pytest.raises(OrderingFault, match="nothing orders them") as found,
        tw.running(recorder=OrderingLog().recorder),
    ):
        halves[(1,)](x[:32], x[8:], 0)
    # The first task writes elements 8 to 23, the second reads 16 to 31.
    assert found.value.findings[0].size_bytes == 16
