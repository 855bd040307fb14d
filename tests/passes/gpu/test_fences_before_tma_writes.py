"""Threads pass an async proxy fence after their reads of a buffer that TMA writes next.

A load that has been issued may be performed after a later TMA write: on an H200 zeros past the end
of a tensor overtook the reads of the iteration before, in one run of many.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright import T
from tilewright.dialects.nv import FenceProxyAsyncOp, MBarrierArriveOp, TmaLoadOp
from tilewright.ir.diagnostics import CompileError, DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.check_thread_sync import CheckThreadSync
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt
from tilewright.targets.numpy.simt.api import SimtFault

STEPS, ROWS, COLUMNS = 4, 16, 32


@T.prim_func
def sums(
    A: T.Tensor((STEPS * ROWS - 3, COLUMNS), "float32"), B: T.Tensor((ROWS, COLUMNS), "float32")
):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((ROWS, COLUMNS), "float32")
        total = T.alloc_fragment((ROWS, COLUMNS), "float32")
        T.clear(total)
        for k in T.Pipelined(STEPS, num_stages=1):
            T.copy(A[k * ROWS, 0], tile)
            for i, j in T.Parallel(ROWS, COLUMNS):
                total[i, j] += tile[i, j]
        T.copy(total, B)


@T.prim_func
def by_author(
    A: T.Tensor((STEPS * ROWS, COLUMNS), "float32"), B: T.Tensor((STEPS, COLUMNS), "float32")
):
    """TMA copies of one thread, ordered by barriers of the block."""
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((ROWS, COLUMNS), "float32")
        full = T.alloc_barrier(1)
        for k in T.serial(STEPS):
            if T.get_thread_binding() == 0:
                T.tma_copy(A[k * ROWS, 0], tile, barrier=full[0])
                T.barrier_arrive(full[0])
            T.barrier_wait(full[0], k % 2)
            for j in T.Parallel(COLUMNS):
                B[k, j] = tile[3, j]
            T.sync_threads()


def lowered(function: Any) -> Any:
    module, engine = function.module.clone(), DiagnosticEngine()
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    assert any(isinstance(op, TmaLoadOp) for op in walk(module))
    return module


def run(module: Any, function: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b = (
        np.random.default_rng(0).integers(-9, 9, param.shape).astype(np.float32)
        for param in function.params
    )
    compile_simt(module).launch([Buffer("A", a), Buffer("B", b)])
    return a, b


def test_reads_are_fenced_before_the_buffer_is_released() -> None:
    module = lowered(sums)
    released = [
        op
        for op in walk(module)
        if isinstance(op, MBarrierArriveOp) and isinstance(op.prev_op, FenceProxyAsyncOp)
    ]
    assert released
    a, b = run(module, sums)
    whole = np.zeros((STEPS * ROWS, COLUMNS), np.float32)
    whole[: len(a)] = a
    np.testing.assert_array_equal(b, whole.reshape(STEPS, ROWS, COLUMNS).sum(axis=0))


def test_reads_are_fenced_before_a_barrier_of_the_block() -> None:
    a, b = run(lowered(by_author), by_author)
    np.testing.assert_array_equal(b, a[3::ROWS])


@pytest.mark.parametrize("function", [sums, by_author])
def test_both_checkers_notice_a_fence_that_is_missing(function: Any) -> None:
    module = lowered(function)
    for op in list(walk(module)):
        if isinstance(op, FenceProxyAsyncOp):
            op.detach()
    engine = DiagnosticEngine()
    CheckThreadSync().run(module, engine)
    with pytest.raises(CompileError, match="read by threads without an async proxy fence after it"):
        engine.raise_if_errors()
    with pytest.raises(SimtFault, match=r"missing async proxy fence: .*, read by threads"):
        run(module, function)
