"""Two statements of one role that write the same elements of a tensor, by different threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.order_tensor_writes import OrderTensorWrites
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import SimtOptions, compile_simt
from tilewright.targets.numpy.simt.api import SimtFault

ROWS, COLUMNS = 16, 8


@T.prim_func
def kernel(A: T.Tensor((64, COLUMNS), "float32"), C: T.Tensor((ROWS, COLUMNS), "float32")):
    with T.Kernel(1, threads=128):
        tile = T.alloc_shared((ROWS, COLUMNS), "float32")
        turned = T.alloc_fragment((ROWS, COLUMNS), "float32")
        for k in T.Pipelined(3, num_stages=2):
            T.copy(A[k * ROWS, 0], tile)
            for i, j in T.Parallel(ROWS, COLUMNS):
                turned[ROWS - 1 - i, j] = tile[i, j]
        T.copy(turned, C)
        for i, j in T.Parallel(ROWS, COLUMNS):
            C[i, j] = i * COLUMNS + j


def run(leave_out: tuple[str, ...] = ()) -> np.ndarray:
    module, engine = kernel.module.clone(), DiagnosticEngine()
    GpuPipeline(leave_out=leave_out).run(module, engine)
    engine.raise_if_errors()
    a = np.random.default_rng(0).standard_normal((64, COLUMNS), dtype=np.float32)
    c: Any = np.full((ROWS, COLUMNS), 99, np.float32)
    for seed in range(4):
        arguments = [Buffer("A", a), Buffer("C", c)]
        compile_simt(module).launch(arguments, SimtOptions(seed=seed))
    return c


def test_the_later_write_of_a_role_wins() -> None:
    expected = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    np.testing.assert_array_equal(run(), expected)


def test_the_executor_notices_writes_that_nothing_orders() -> None:
    with pytest.raises(SimtFault, match=r"writes C\[\d+\], and nothing orders it after warp"):
        run(leave_out=(OrderTensorWrites.name,))
