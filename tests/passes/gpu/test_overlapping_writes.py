"""Writes of one kernel to the same elements of a tensor: the last one in program order stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.order_tensor_writes import OrderTensorWrites
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt
from tilewright.targets.numpy.simt.api import SimtFault

ROWS, COLUMNS = 16, 64


@T.prim_func
def tma_then_threads(
    A: T.Tensor((ROWS, COLUMNS), "float16"), B: T.Tensor((ROWS, COLUMNS), "float16")
):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((ROWS, COLUMNS), "float16")
        row = T.alloc_fragment((1, COLUMNS), "float16")
        for i, j in T.Parallel(ROWS, COLUMNS):
            tile[i, j] = A[i, j] + 1
        T.fill(row, 7)
        T.copy(tile, B[0, 0])
        T.copy(row, B[3, 0])


@T.prim_func
def threads_then_tma(
    A: T.Tensor((ROWS, COLUMNS), "float16"), B: T.Tensor((ROWS, COLUMNS), "float16")
):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((ROWS, COLUMNS), "float16")
        for i, j in T.Parallel(ROWS, COLUMNS):
            tile[i, j] = A[i, j] + 1
        for i, j in T.Parallel(ROWS, COLUMNS):
            B[i, j] = 0
        T.copy(tile, B[0, 0])


@T.prim_func
def tma_then_tma(A: T.Tensor((ROWS, COLUMNS), "float16"), B: T.Tensor((ROWS, 128), "float16")):
    with T.Kernel(1, threads=128):
        one = T.alloc_shared((ROWS, COLUMNS), "float16")
        other = T.alloc_shared((ROWS, COLUMNS), "float16")
        for i, j in T.Parallel(ROWS, COLUMNS):
            one[i, j] = A[i, j] + 1
            other[i, j] = A[i, j] + 2
        T.copy(one, B[0, 0])
        T.copy(other, B[0, 32])


@T.prim_func
def tma_in_steps_of_8(A: T.Tensor((ROWS, COLUMNS), "float16"), B: T.Tensor((ROWS, 128), "float16")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((ROWS, COLUMNS), "float16")
        for k in T.serial(4):
            for i, j in T.Parallel(ROWS, COLUMNS):
                tile[i, j] = A[i, j] + k
            T.copy(tile, B[0, 8 * k])


@T.prim_func
def tma_in_steps_of_64(
    A: T.Tensor((ROWS, COLUMNS), "float16"), B: T.Tensor((ROWS, 256), "float16")
):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((ROWS, COLUMNS), "float16")
        for k in T.serial(4):
            for i, j in T.Parallel(ROWS, COLUMNS):
                tile[i, j] = A[i, j] + k
            T.copy(tile, B[0, 64 * k])


@T.prim_func
def tma_in_two_halves(A: T.Tensor((ROWS, COLUMNS), "float16"), B: T.Tensor((ROWS, 512), "float16")):
    with T.Kernel(1, threads=128):
        one = T.alloc_shared((ROWS, COLUMNS), "float16")
        other = T.alloc_shared((ROWS, COLUMNS), "float16")
        for k in T.serial(4):
            for i, j in T.Parallel(ROWS, COLUMNS):
                one[i, j] = A[i, j] + k
                other[i, j] = A[i, j] - k
            T.copy(one, B[0, 128 * k])
            T.copy(other, B[0, 128 * k + 64])


@T.prim_func
def shifted_elements(A: T.Tensor((64,), "int32"), B: T.Tensor((80,), "int32")):
    with T.Kernel(1, threads=64):
        for k in T.serial(8):
            for i in T.Parallel(64):
                B[i + k] = A[i] * 100 + k


@T.prim_func
def shifted_backwards(A: T.Tensor((64,), "int32"), B: T.Tensor((80,), "int32")):
    with T.Kernel(1, threads=64):
        for k in T.serial(8):
            for i in T.Parallel(64):
                B[63 - i + k + 1] = A[i] * 100 + k


@T.prim_func
def shifted_copies(A: T.Tensor((64,), "int32"), B: T.Tensor((80,), "int32")):
    with T.Kernel(1, threads=64):
        values = T.alloc_fragment((64,), "int32")
        T.copy(A, values)
        for k in T.serial(8):
            for i in T.Parallel(64):
                values[i] = values[i] + 1
            T.copy(values, B[k])


@T.prim_func
def iterations_between_each_other(A: T.Tensor((64,), "int32"), B: T.Tensor((256,), "int32")):
    with T.Kernel(1, threads=64):
        for k in T.serial(4):
            for i in T.Parallel(64):
                B[i * 4 + k] = A[i] + k


@T.prim_func
def iterations_at_one_place(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
    with T.Kernel(1, threads=64):
        for k in T.serial(4):
            for i in T.Parallel(64):
                B[63 - i] = A[i] + k


@T.prim_func
def store_beside_an_atomic(A: T.Tensor((64,), "int32"), B: T.Tensor((64,), "int32")):
    with T.Kernel(1, threads=64):
        for i in T.Parallel(64):
            B[i] = 1
            T.atomic_add(A[i], 1)
        for i in T.Parallel(64):
            B[63 - i] = i + 2
            T.atomic_add(A[i], 1)


def lowered(kernel: Any, leave_out: tuple[str, ...] = ()) -> tuple[Any, DiagnosticEngine]:
    module, engine = kernel.module.clone(), DiagnosticEngine()
    GpuPipeline(leave_out=leave_out).run(module, engine)
    engine.raise_if_errors()
    return module, engine


def arrays(kernel: Any) -> list[Any]:
    rng = np.random.default_rng(0)
    shapes = [(each.shape, each.dtype) for each in kernel.params]
    return [rng.integers(-9, 9, shape).astype(str(dtype)) for shape, dtype in shapes]


def run(kernel: Any, leave_out: tuple[str, ...] = ()) -> None:
    """Both executors agree, and the one of threads finds no two writes without an order."""
    module, _ = lowered(kernel, leave_out)
    wanted, got = arrays(kernel), arrays(kernel)
    tw.compile(kernel, target="numpy")(*wanted)
    buffers = [Buffer(each.name, array) for each, array in zip(kernel.params, got, strict=True)]
    compile_simt(module).launch(buffers, SimtOptions(schedules=3))
    for one, other in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def count(module: Any, names: Sequence[str]) -> int:
    return sum(each.name in names for each in module.walk())


OVERLAPPING_TMA = [tma_then_threads, threads_then_tma, tma_then_tma, tma_in_steps_of_8]
SHIFTED = [shifted_elements, shifted_backwards, shifted_copies]


@pytest.mark.parametrize("kernel", [*OVERLAPPING_TMA, *SHIFTED, store_beside_an_atomic])
def test_the_last_write_stays(kernel: Any) -> None:
    run(kernel)


@pytest.mark.parametrize("kernel", OVERLAPPING_TMA)
def test_threads_store_elements_that_are_written_again(kernel: Any) -> None:
    module, engine = lowered(kernel)
    assert count(module, ["nv.tma_store"]) == 0
    assert any(each.code == "TW3002" for each in engine.diagnostics)


@pytest.mark.parametrize("kernel", [tma_in_steps_of_64, tma_in_two_halves])
def test_tma_stores_parts_that_lie_apart(kernel: Any) -> None:
    assert count(lowered(kernel)[0], ["nv.tma_store"]) > 0
    run(kernel)


@pytest.mark.parametrize("kernel", SHIFTED)
def test_the_executor_notices_iterations_that_nothing_orders(kernel: Any) -> None:
    with pytest.raises(SimtFault, match=r"writes B\[\d+\], and nothing orders it after warp"):
        run(kernel, leave_out=(OrderTensorWrites.name,))


@pytest.mark.parametrize("kernel", [iterations_between_each_other, iterations_at_one_place])
def test_iterations_of_a_thread_s_own_elements_need_no_barrier(kernel: Any) -> None:
    assert count(lowered(kernel)[0], ["gpu.barrier"]) == 0
    run(kernel)
