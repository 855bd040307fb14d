"""``T.tma_copy`` out of shared memory is a TMA store, or one by threads where TMA would be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import source_of
from tilewright import T
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.text import print_module
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt

HALF = "float16"
ROWS, COLUMNS, TILE = 64, 64, 16


def once(columns: int = COLUMNS) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, columns), HALF), B: T.Tensor((ROWS, columns), HALF)):
        with T.Kernel(ROWS // TILE, threads=128) as bx:
            tile = T.alloc_shared((TILE, columns), HALF)
            for i, j in T.Parallel(TILE, columns):
                tile[i, j] = A[bx * TILE + i, j] * 2
            T.tma_copy(tile, B[bx * TILE, 0])

    return kernel


def with_groups(stages: int) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), HALF), B: T.Tensor((ROWS, COLUMNS), HALF)):
        with T.Kernel(1, threads=128):
            given = T.alloc_shared((TILE, COLUMNS), HALF)
            tile = T.alloc_shared((TILE, COLUMNS), HALF)
            for k in T.Pipelined(ROWS // TILE, num_stages=stages):
                T.copy(A[k * TILE, 0], given)
                for i, j in T.Parallel(TILE, COLUMNS):
                    tile[i, j] = given[i, j] * 2
                T.tma_copy(tile, B[k * TILE, 0])
                T.tma_store_arrive()
                T.tma_store_wait(0)

    return kernel


def in_a_role() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), HALF), B: T.Tensor((ROWS, COLUMNS), HALF)):
        with T.Kernel(ROWS // TILE, threads=256) as bx:
            tile = T.alloc_shared((TILE, COLUMNS), HALF)
            full = T.alloc_barrier(128)
            with T.ws(0):
                for i, j in T.Parallel(TILE, COLUMNS):
                    tile[i, j] = A[bx * TILE + i, j] * 2
                T.fence_proxy_async()
                T.barrier_arrive(full)
            with T.ws(1):
                T.barrier_wait(full, 0)
                T.tma_copy(tile, B[bx * TILE, 0])
                T.tma_store_arrive()
                T.tma_store_wait(0)

    return kernel


def read_again() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), HALF), B: T.Tensor((ROWS, COLUMNS), HALF)):
        with T.Kernel(ROWS // TILE, threads=128) as bx:
            tile = T.alloc_shared((TILE, COLUMNS), HALF)
            T.copy(A[bx * TILE, 0], tile)
            T.tma_copy(tile, B[bx * TILE, 0])
            T.tma_store_arrive()
            T.tma_store_wait(0, read=False)
            T.sync_threads()
            for i, j in T.Parallel(TILE, COLUMNS):
                B[bx * TILE + i, j] = B[bx * TILE + i, j] * 2

    return kernel


def of_two_buffers() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((ROWS, COLUMNS), HALF), B: T.Tensor((ROWS, COLUMNS), HALF)):
        with T.Kernel(1, threads=128):
            tiles = T.alloc_shared((2, TILE, COLUMNS), HALF)
            for k in T.serial(ROWS // TILE):
                T.tma_store_wait(1)
                for i, j in T.Parallel(TILE, COLUMNS):
                    tiles[k % 2, i, j] = A[k * TILE + i, j] * 2
                T.tma_copy(tiles[k % 2, :, :], B[k * TILE, 0])
                T.tma_store_arrive()
            T.tma_store_wait(0)

    return kernel


def by_one_thread(number: int) -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((TILE, COLUMNS), HALF), B: T.Tensor((TILE, COLUMNS), HALF)):
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((TILE, COLUMNS), HALF)
            thread = T.get_thread_binding()
            T.copy(A, tile)
            if thread == number:
                T.tma_copy(tile, B)

    return kernel


def lowered(function: Any, arch: str = "sm_90a") -> Any:
    module, engine = function.module.clone(), DiagnosticEngine()
    GpuPipeline(target=f"cuda:{arch}").run(module, engine)
    engine.raise_if_errors()
    return module


def check(function: Any, module: Any, columns: int = COLUMNS) -> None:
    given = np.random.default_rng(0).integers(-9, 9, (ROWS, columns)).astype(HALF)
    out = np.zeros_like(given)
    options = SimtOptions(schedules=3)
    compile_simt(module).launch([Buffer("A", given), Buffer("B", out)], options)
    np.testing.assert_array_equal(out, given * 2)
    by_tiles = np.zeros_like(given)
    tw.compile(function, target="numpy")(given, by_tiles)
    np.testing.assert_array_equal(by_tiles, given * 2)


STORED_BY_TMA = {
    "once": (once, COLUMNS),
    "a wide tile": (lambda: once(512), 512),
    "groups of the author": (lambda: with_groups(1), COLUMNS),
    "groups of the author in a pipeline": (lambda: with_groups(2), COLUMNS),
    "a role": (in_a_role, COLUMNS),
}


@pytest.mark.parametrize("name", STORED_BY_TMA)
def test_a_tma_copy_to_a_tensor_is_a_tma_store(name: str) -> None:
    make, columns = STORED_BY_TMA[name]
    function = make()
    module = lowered(function)
    assert "nv.tma_store %" in print_module(module)
    check(function, module, columns)


def test_a_tma_store_of_the_author_is_valid_cuda() -> None:
    for function in (once(), with_groups(2), in_a_role()):
        text = compile_source(source_of(lowered(function)), "sm_90a").ptx
        assert "cp.async.bulk.tensor.2d.global.shared" in text


STORED_BY_THREADS = {
    "rows that end in no whole 16 bytes": (lambda: once(60), 60, "sm_90a"),
    "a tensor that is read again": (read_again, COLUMNS, "sm_90a"),
    "a part of a buffer": (of_two_buffers, COLUMNS, "sm_90a"),
    "a GPU without TMA": (once, COLUMNS, "sm_80"),
}


@pytest.mark.parametrize("name", STORED_BY_THREADS)
def test_a_tma_copy_that_tma_cannot_store_is_stored_by_threads(name: str) -> None:
    make, columns, arch = STORED_BY_THREADS[name]
    function = make()
    module = lowered(function, arch)
    assert "nv.tma_store %" not in print_module(module)
    check(function, module, columns)


@pytest.mark.parametrize("number", [0, 32])
def test_a_tma_store_that_only_some_threads_come_to_is_an_error(number: int) -> None:
    with pytest.raises(CompileError, match=r"TW4073.*T\.tma_copy elects the issuing thread"):
        lowered(by_one_thread(number))
