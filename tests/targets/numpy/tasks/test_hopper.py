"""Kernels in `tlx` for Hopper, launched like any other."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.tasks import hopper_kernels as kernels
from tilewright.runtime.descriptors import TensorDescriptor
from tilewright.targets.numpy.tasks.faults import TaskFault

RNG = np.random.default_rng(3)


def half(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def tiled(array: np.ndarray, *block: int) -> TensorDescriptor:
    return TensorDescriptor(array, list(array.shape), [array.shape[1], 1], list(block))


def test_specialised_gemm() -> None:
    a, b, c = half(128, 320), half(320, 128), np.full((128, 128), np.nan, np.float16)
    with tw.running(schedules=8):
        done = kernels.gemm_specialised[(1, 1)](
            tiled(a, 64, 64), tiled(b, 64, 128), tiled(c, 64, 128), 320, 128, 128, 64, 2
        )
    assert done.last_report is not None and done.last_report.schedules == 8
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.astype(np.float64), expected, rtol=2e-3, atol=2e-2)


def test_pipelined_gemm() -> None:
    m, n, k = 64, 64, 200
    a, b, c = half(m, k), half(k, n), np.full((m, n), np.nan, np.float16)
    with tw.running(schedules=6):
        kernels.gemm_pipelined[(1, 1)](a, b, c, m, n, k, 64, 64, 64, 3)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c.astype(np.float64), expected, rtol=2e-3, atol=2e-2)


def test_result_of_an_mma_must_be_waited_for() -> None:
    a, c = half(64, 64), np.zeros((64, 64), np.float32)
    kernels.gemm_too_early[(1,)](a, c, "wait")
    expected = 2 * (a.astype(np.float64) @ a.astype(np.float64))
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-3)
    with pytest.raises(TaskFault, match="is used before the wait for it") as found:
        kernels.gemm_too_early[(1,)](a, c, "nothing")
    assert found.value.kind == "not arrived"
    assert "tl.store(c_ptr + rows * 64 + columns, acc * 2)" in str(found.value)


def test_named_barriers_alternate_two_tasks() -> None:
    out = np.zeros((8, 32), np.int32)
    with tw.running(schedules=10):
        kernels.ping_pong[(1,)](out, 4, 256)
    lane = np.arange(32)
    for i in range(4):
        np.testing.assert_array_equal(out[2 * i], lane + 100 * i)
        np.testing.assert_array_equal(out[2 * i + 1], lane + 100 * i + 7)


def test_named_barrier_for_too_many_threads_is_a_deadlock() -> None:
    with pytest.raises(TaskFault, match="waits for 384 threads at barrier") as found:
        kernels.ping_pong[(1,)](np.zeros((8, 32), np.int32), 4, 384)
    assert found.value.kind == "deadlock"
    assert "wait cycle" in str(found.value)


def test_every_thread_arrives_at_a_warp_barrier() -> None:
    out = np.zeros(32, np.int32)
    kernels.per_thread[(1,)](out)
    np.testing.assert_array_equal(out, np.arange(32) * 3)


def test_multicast_reaches_every_cta() -> None:
    a, out = half(32, 64), np.zeros((4, 32, 32), np.float16)
    with tw.running(schedules=5):
        kernels.multicast[(4,)](tiled(a, 32, 32), out, 32, ctas_per_cga=(2, 1, 1))
    for program in range(4):
        tile = a[:, program // 2 * 32 :][:, :32]
        np.testing.assert_array_equal(out[program], tile + np.float16(program % 2))


def test_stores_into_the_other_cta() -> None:
    x = RNG.standard_normal(4 * 64).astype(np.float32)
    out = np.zeros_like(x)
    with tw.running(schedules=5):
        kernels.neighbours[(4,)](x, out, 64, ctas_per_cga=(2, 1, 1))
    np.testing.assert_array_equal(out.reshape(4, 64), x.reshape(4, 64)[[1, 0, 3, 2]])


def test_a_grid_is_made_of_whole_clusters() -> None:
    x = np.zeros(3 * 64, np.float32)
    with pytest.raises(ValueError, match=r"grid \(3, 1, 1\) is not a multiple of cluster"):
        kernels.neighbours[(3,)](x, x.copy(), 64, ctas_per_cga=(2, 1, 1))


def test_functions_work_on_buffers() -> None:
    x = RNG.standard_normal(64).astype(np.float32)
    out = np.zeros_like(x)
    kernels.called[(1,)](x, out)
    np.testing.assert_array_equal(out, (x * x) * (x * x))


def test_unwritten_shared_memory_is_reported() -> None:
    out = np.zeros((64, 32), np.float32)
    with pytest.raises(TaskFault, match="uninitialised read: 4096 bytes of") as found:
        kernels.unwritten[(1,)](out)
    assert found.value.kind == "uninitialised"
    with tw.running(check_uninitialised=False):
        kernels.unwritten[(1,)](out)
    assert np.isnan(out[:32]).all() and not out[32:].any()


def test_clusters_synchronise_before_the_first_signal() -> None:
    out = np.zeros(32, np.int32)
    with tw.running(schedules=12):
        kernels.announced[(2,)](out, ctas_per_cga=(2, 1, 1))
    np.testing.assert_array_equal(out, np.arange(32) * 5)


def test_tma_adds_and_stores() -> None:
    x = RNG.integers(-9, 9, (32, 96)).astype(np.float32)
    out = np.zeros((64, 96), np.float32)
    with tw.running(schedules=5):
        kernels.reduced[(3,)](tiled(x, 32, 32), tiled(out, 32, 32), 32)
    np.testing.assert_array_equal(out[:32, :32], 2 * x.reshape(32, 3, 32).sum(1))
    np.testing.assert_array_equal(out[32:], x)


def test_gather_and_scatter() -> None:
    x = RNG.standard_normal((32, 32)).astype(np.float32)
    order = np.argsort(RNG.random((32, 32)), axis=1).astype(np.int32)
    out = np.zeros((2, 32, 32), np.float32)
    kernels.by_index[(1,)](x, order, out, 32)
    np.testing.assert_array_equal(out[0], np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(out[1], 2 * x)
    with pytest.raises(
        TaskFault, match=r"index 32 is out of bounds: axis 1 of tile.0. has extent 32"
    ):
        kernels.by_index[(1,)](x, order + 1, out, 32)
    with pytest.raises(TaskFault, match="uninitialised read"):
        kernels.by_index[(1,)](x, np.zeros_like(order), out, 32)


def test_left_operand_in_registers() -> None:
    a, b, c = half(64, 64), half(64, 64), np.zeros((64, 64), np.float32)
    with tw.running(schedules=4):
        kernels.from_registers[(1,)](a, b, c)
    expected = a.astype(np.float64) @ b.astype(np.float64).T
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-3)


def test_bulk_copies() -> None:
    x = RNG.standard_normal(4 * 64).astype(np.float32)
    out = np.zeros_like(x)
    with tw.running(schedules=4):
        kernels.bulk[(4,)](x, out, 64)
    np.testing.assert_array_equal(out, x)


def test_descriptors_in_memory() -> None:
    x, out = RNG.standard_normal((2, 64, 64)).astype(np.float32)
    before = out.copy()
    kernels.described_on_device[(1,)](x, out, 64, 32)
    np.testing.assert_array_equal(out[:32, 32:], x[32:, :32] + 1)
    np.testing.assert_array_equal(out[32:], before[32:])


def test_a_descriptor_that_is_written_again_is_read_again() -> None:
    x, out = RNG.standard_normal((3, 32, 32)).astype(np.float32), np.zeros((3, 32, 32), np.float32)
    kernels.described_again[(1,)](x, out, 32)
    np.testing.assert_array_equal(out[0], x[0])
    np.testing.assert_array_equal(out[1], x[1])
    np.testing.assert_array_equal(out[2], x[1])
