"""Kernels that come back to a tensor they have written, by other means or under another name."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt

TURNS, SIZE = 4, 64


@T.prim_func
def in_a_loop(C: T.Tensor((TURNS + 1, SIZE, SIZE), "float16")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((SIZE, SIZE), "float16")
        turned = T.alloc_shared((SIZE, SIZE), "float16")
        for k in T.serial(TURNS):
            T.copy(C[k, 0:SIZE, 0:SIZE], tile)
            for i, j in T.Parallel(SIZE, SIZE):
                turned[i, j] = tile[j, i] + 1.0
            T.copy(turned, C[k + 1, 0:SIZE, 0:SIZE])


@T.prim_func
def behind_the_store(C: T.Tensor((TURNS + 1, SIZE, SIZE), "float16")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((SIZE, SIZE), "float16")
        for i, j in T.Parallel(SIZE, SIZE):
            tile[i, j] = C[0, j, i] + 1.0
        T.copy(tile, C[1, 0:SIZE, 0:SIZE])
        for i, j in T.Parallel(SIZE, SIZE):
            C[2, i, j] = C[1, j, i] * 2.0


@T.prim_func
def before_the_store(C: T.Tensor((TURNS + 1, SIZE, SIZE), "float16")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((SIZE, SIZE), "float16")
        for i, j in T.Parallel(SIZE, SIZE):
            tile[i, j] = C[0, j, i] + 1.0
        T.copy(tile, C[0, 0:SIZE, 0:SIZE])


@T.prim_func
def the_same_tile(C: T.Tensor((TURNS + 1, SIZE, SIZE), "float16")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((SIZE, SIZE), "float16")
        for k in T.serial(TURNS):
            T.fill(tile, k)
            T.copy(tile, C[2, 0:SIZE, 0:SIZE])


def signature(module: Any) -> str:
    """The arguments of the kernel, in CUDA."""
    (kernel,) = kernels_of(module)
    lines = emit_kernel(kernel).text.splitlines()
    return next(line for line in lines if "_kernel(" in line)


@pytest.mark.parametrize("kernel", [in_a_loop, behind_the_store, before_the_store, the_same_tile])
def test_values(kernel: Any) -> None:
    c = np.random.default_rng(0).integers(0, 9, (TURNS + 1, SIZE, SIZE)).astype(np.float16)
    wanted = c.copy()
    tw.compile(kernel, target="numpy")(wanted)
    compile_simt(lowered(kernel.module.clone())).launch([Buffer("C", c)])
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("kernel", [in_a_loop, behind_the_store, the_same_tile])
def test_threads_store_what_the_kernel_reads_again(kernel: Any) -> None:
    engine, module = DiagnosticEngine(), kernel.module.clone()
    GpuPipeline().run(module, engine)
    (remark,) = [each for each in engine.diagnostics if each.code == "TW3002"]
    assert remark.message.endswith("the kernel accesses the tensor again")
    assert "(__half* __restrict__ C)" in signature(module)


def test_the_engine_stores_what_was_read_before():
    # A pointer to it is not for reading only, though no thread writes there.
    assert "(__half* C, const __grid_constant__ tw::TensorMap C_map)" in signature(
        lowered(before_the_store.module.clone())
    )


# -- views ---------------------------------------------------------------------------------------


@T.prim_func
def under_two_names(A: T.Tensor((2, SIZE), "float32"), C: T.Tensor((2, SIZE), "float32")):
    with T.Kernel(1, threads=SIZE):
        row = T.reshape(C, (2 * SIZE,))
        for i in T.Parallel(SIZE):
            row[i] = A[0, i]
        for i in T.Parallel(SIZE):
            A[1, i] = C[0, SIZE - 1 - i]


@T.prim_func
def read_under_two_names(A: T.Tensor((2, SIZE), "float32"), C: T.Tensor((2, SIZE), "float32")):
    with T.Kernel(1, threads=SIZE):
        row = T.reshape(A, (2 * SIZE,))
        for i in T.Parallel(SIZE):
            C[0, i] = A[0, i] + row[SIZE + i]


def test_threads_meet_between_views():
    module = lowered(under_two_names.module.clone())
    (kernel,) = kernels_of(module)
    touched = [op.name for op in kernel.walk() if op.name.startswith(("memref.", "gpu.barrier"))]
    write, read = (
        touched.index("memref.store"),
        len(touched) - 1 - touched[::-1].index("memref.load"),
    )
    assert "gpu.barrier" in touched[write:read]


def test_views_of_what_is_written_are_not_restricted():
    assert "(float* __restrict__ A, float* row, float* C)" in signature(
        lowered(under_two_names.module.clone())
    )
    assert (
        "(const float* __restrict__ A, const float* __restrict__ row, float* __restrict__ C)"
        in (signature(lowered(read_under_two_names.module.clone())))
    )
