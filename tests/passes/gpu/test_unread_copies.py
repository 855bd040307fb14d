"""An asynchronous copy that nothing reads still writes its buffer until it is waited for."""

from __future__ import annotations

import numpy as np

from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt

ROWS, COLUMNS, STEPS = 16, 8, 2


@T.prim_func
def kernel(
    A: T.Tensor((STEPS * ROWS, COLUMNS), "float32"), B: T.Tensor((ROWS, COLUMNS), "float16")
):
    with T.Kernel(1, threads=128):
        read = T.alloc_shared((ROWS, COLUMNS), "float32")
        unread = T.alloc_shared((COLUMNS,), "float32")
        result = T.alloc_shared((ROWS, COLUMNS), "float16")
        for k in T.Pipelined(STEPS, num_stages=3):
            T.copy(A[k * ROWS, 0], read)
            T.copy(A[k * ROWS, 0:COLUMNS], unread)
            for _ in T.serial(STEPS, k):  # no iteration, which only unrolling shows
                for i in T.Parallel(COLUMNS):
                    B[0, i] = unread[i]
            T.copy(read, result)
        T.copy(result, B)


def test_bytes_of_an_unread_copy_are_not_given_away_while_it_is_in_flight() -> None:
    module, engine = kernel.module.clone(), DiagnosticEngine()
    GpuPipeline(target="cuda:sm_80", wgmma=False).run(module, engine)
    engine.raise_if_errors()  # `check-thread-sync` follows the copies
    a = np.random.default_rng(0).standard_normal((STEPS * ROWS, COLUMNS), dtype=np.float32)
    b = np.full((ROWS, COLUMNS), 99, np.float16)
    compile_simt(module).launch([Buffer("A", a), Buffer("B", b)])
    np.testing.assert_array_equal(b, a[-ROWS:].astype(np.float16))


@T.prim_func
def unread_only(A: T.Tensor((STEPS * ROWS, COLUMNS), "float16"), B: T.Tensor((ROWS,), "float32")):
    with T.Kernel(1, threads=128):
        unread = T.alloc_shared((ROWS, COLUMNS), "float16")
        total = T.alloc_fragment((ROWS,), "float32")
        T.clear(total)
        for k in T.Pipelined(STEPS, num_stages=2):
            T.copy(A[k * ROWS, 0], unread)
            for i in T.Parallel(ROWS):
                total[i] += 1
        T.copy(total, B)


def test_copies_that_nothing_reads_need_no_slots() -> None:
    module, engine = unread_only.module.clone(), DiagnosticEngine()
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    a, b = np.ones((STEPS * ROWS, COLUMNS), np.float16), np.full(ROWS, 99, np.float32)
    compile_simt(module).launch([Buffer("A", a), Buffer("B", b)])
    np.testing.assert_array_equal(b, np.full(ROWS, STEPS, np.float32))
