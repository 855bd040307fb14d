"""Iterations that several threads share: all of them write registers, one of them memory."""

from __future__ import annotations

import numpy as np
import pytest

from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

PIPELINES = {
    "sm_90a": GpuPipeline(),
    "gfx942": AmdPipeline(target="hip:gfx942"),
    "gfx1100": AmdPipeline(target="hip:gfx1100"),
}


def run(kernel, target, *arrays):
    program = compile_simt(lowered(kernel.module.clone(), PIPELINES[target]))
    buffers = [Buffer(f"a{n}", each) for n, each in enumerate(arrays)]
    program.launch(buffers, SimtOptions())


@T.prim_func
def scaled(
    X: T.Tensor((4, 512), "float32"),
    Y: T.Tensor((4, 512), "float32"),
    S: T.Tensor((4,), "float32"),
    hits: T.Tensor((4,), "int32"),
):
    """The scale of a row is written to memory and used, in one loop."""
    with T.Kernel(4, threads=128) as row:
        x = T.alloc_fragment((1, 512), "float32")
        largest = T.alloc_fragment((1,), "float32")
        T.copy(X[row : row + 1, :], x)
        T.reduce_max(x, largest, dim=1)
        for i in T.Parallel(1):
            largest[i] = largest[i] * 2
            if largest[i] > 0:
                T.atomic_add(hits[row], 1)
            S[row] = largest[i]
        for i, j in T.Parallel(1, 512):
            Y[row, j] = x[i, j] + largest[i]


@T.prim_func
def rows(
    X: T.Tensor((32, 64), "float32"), Y: T.Tensor((32, 64), "float32"), S: T.Tensor(32, "float32")
):
    """As `scaled`, for each row of a tile, whose threads are some of the block."""
    with T.Kernel(1, threads=128):
        x = T.alloc_fragment((32, 64), "float32")
        total = T.alloc_fragment((32,), "float32")
        T.copy(X, x)
        T.reduce_sum(x, total, dim=1)
        for i in T.Parallel(32):
            S[i] = total[i]
            total[i] = total[i] / 64
        for i, j in T.Parallel(32, 64):
            Y[i, j] = x[i, j] - total[i]


@pytest.mark.parametrize("target", PIPELINES)
def test_all_threads_have_what_one_of_them_stores(target):
    x = np.random.default_rng(3).standard_normal((4, 512)).astype(np.float32)
    y, s, hits = np.full_like(x, np.nan), np.full(4, np.nan, np.float32), np.zeros(4, np.int32)
    run(scaled, target, x, y, s, hits)
    assert np.array_equal(s, 2 * x.max(1))
    assert np.array_equal(y, x + s[:, None])
    assert np.array_equal(hits, np.ones(4))


@pytest.mark.parametrize("target", PIPELINES)
def test_rows_of_a_tile(target):
    x = np.random.default_rng(4).standard_normal((32, 64)).astype(np.float32)
    y, s = np.full_like(x, np.nan), np.full(32, np.nan, np.float32)
    run(rows, target, x, y, s)
    assert np.allclose(s, x.sum(1), atol=1e-4)
    assert np.allclose(y, x - x.mean(1, keepdims=True), atol=1e-4)


@T.prim_func
def tickets(X: T.Tensor((128,), "float32"), counter: T.Tensor((1,), "int32")):
    """All threads need the ticket that one of them takes."""
    with T.Kernel(1, threads=128):
        x = T.alloc_fragment((1, 128), "float32")
        largest = T.alloc_fragment((1,), "float32")
        for i, j in T.Parallel(1, 128):
            x[i, j] = X[j]
        T.reduce_max(x, largest, dim=1)
        for i in T.Parallel(1):
            largest[i] = T.cast(T.atomic_add(counter[0], 1, return_prev=True), "float32")
        for i, j in T.Parallel(1, 128):
            X[j] = x[i, j] + largest[i]


@T.prim_func
def read_back(X: T.Tensor((32, 64), "float32"), S: T.Tensor(32, "float32")):
    """One thread writes what all of them read at once."""
    with T.Kernel(1, threads=128):
        x = T.alloc_fragment((32, 64), "float32")
        total = T.alloc_fragment((32,), "float32")
        T.copy(X, x)
        T.reduce_sum(x, total, dim=1)
        for i in T.Parallel(32):
            S[i] = total[i]
            total[i] = S[i] / 64
        for i, j in T.Parallel(32, 64):
            X[i, j] = x[i, j] - total[i]


@pytest.mark.parametrize("target", PIPELINES)
def test_memory_that_one_thread_writes_and_all_read(target):
    x = np.random.default_rng(5).standard_normal((32, 64)).astype(np.float32)
    y, s = x.copy(), np.full(32, np.nan, np.float32)
    run(read_back, target, y, s)
    assert np.allclose(s, x.sum(1), atol=1e-4)
    assert np.allclose(y, x - x.mean(1, keepdims=True), atol=1e-4)


def test_a_result_that_one_thread_has():
    with pytest.raises(CompileError, match="previous value that its atomic op returns to one"):
        lowered(tickets.module.clone())
