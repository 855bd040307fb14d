"""Buffers that only the producer accesses: their copies are in flight at any time."""

from __future__ import annotations

from typing import Any

import numpy as np

from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt


def lowered(function: Any, pipeline: GpuPipeline) -> Any:
    module, engine = function.module.clone(), DiagnosticEngine()
    pipeline.run(module, engine)
    engine.raise_if_errors()
    return module


@T.prim_func
def unread(A: T.Tensor((16, 16), "float16"), B: T.Tensor((16, 16), "float16")):
    with T.Kernel(1, threads=128):
        early = T.alloc_shared((16, 16), "float16")
        loaded = T.alloc_shared((16, 16), "float16")
        for i, j in T.Parallel(16, 16):
            early[i, j] = i + j
        T.copy(early, B)
        for k in T.Pipelined(1, num_stages=2):
            T.copy(A[16 * k, 0], loaded)
            for _ in T.serial(k):  # no iteration
                T.copy(loaded, B)


def test_bytes_that_the_producer_fills_at_any_time_are_its_own() -> None:
    module = lowered(unread, GpuPipeline())
    a, b = np.ones((16, 16), np.float16), np.full((16, 16), 99, np.float16)
    compile_simt(module).launch([Buffer("A", a), Buffer("B", b)])
    np.testing.assert_array_equal(b, np.add.outer(np.arange(16), np.arange(16)))
