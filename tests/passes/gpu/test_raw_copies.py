"""`T.ptx_cp_async` becomes `cp.async`; named barriers of `T.sync_threads` have constant ids."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T
from tilewright.ir.diagnostics import CompileError


@pytest.mark.parametrize(("elements", "dtype"), [(8, "float16"), (2, "float32"), (16, "int8")])
def test_each_thread_copies_a_few_elements(elements, dtype):
    """There was no CUDA for it (TW9050)."""
    columns = 128 * elements // 8

    @tw.jit
    def copied(A):
        A: T.Tensor((8, columns), dtype)
        Out = T.empty((8, columns), dtype)
        with T.Kernel(1, threads=128):
            staged = T.alloc_shared((8, columns), dtype)
            tx = T.get_thread_binding()
            for k in T.serial(8 * columns // (128 * elements)):
                row, column = (k * 128 + tx) // (columns // elements), tx % (columns // elements)
                T.ptx_cp_async(
                    T.access_ptr(staged[row, column * elements], "w", elements),
                    T.access_ptr(A[row, column * elements], "r", elements),
                    elements,
                )
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            T.sync_threads()
            for i, j in T.Parallel(8, columns):
                Out[i, j] = staged[7 - i, columns - 1 - j]
        return Out

    a = whole(0, 8, columns, dtype=dtype)
    check(copied, a, expected=a[::-1, ::-1])
    module, _ = lowered(copied, a)
    size = elements * a.dtype.itemsize
    assert f"tw::cp_async<{size}>" in source_of(module)


def test_where_the_predicate_fails_zeros_arrive():
    @tw.jit
    def copied(A):
        A: T.Tensor((20, 8), "float16")
        Out = T.empty((32, 8), "float16")
        with T.Kernel(1, threads=32):
            staged = T.alloc_shared((32, 8), "float16")
            tx = T.get_thread_binding()
            T.ptx_cp_async(
                T.access_ptr(staged[tx, 0], "w", 8),
                T.access_ptr(A[T.min(tx, 19), 0], "r", 8),
                8,
                tx % 3 != 1,
            )
            T.ptx_commit_group()
            T.ptx_wait_group(0)
            T.sync_threads()
            T.copy(staged, Out)
        return Out

    a = whole(1, 20, 8)
    rows = np.arange(32)
    expected = np.where((rows % 3 != 1)[:, None], a[np.minimum(rows, 19)], 0)
    check(copied, a, expected=expected.astype(np.float16))


def test_an_operand_of_a_gemm_is_copied_where_its_swizzle_has_it():
    @tw.jit
    def multiplied(A, B):
        A: T.Tensor((64, 64), "float16")
        B: T.Tensor((64, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((64, 64), "float16")
            b = T.alloc_shared((64, 64), "float16")
            c = T.alloc_fragment((64, 64), "float32")
            tx = T.get_thread_binding()
            for k in T.serial(4):
                T.ptx_cp_async(
                    T.access_ptr(a[k * 16 + tx // 8, tx % 8 * 8], "w", 8),
                    T.access_ptr(A[k * 16 + tx // 8, tx % 8 * 8], "r", 8),
                    8,
                )
            T.ptx_commit_group()
            T.copy(B, b)
            T.ptx_wait_group(0)
            T.sync_threads()
            T.gemm(a, b, c, clear_accum=True)
            T.copy(c, C)
        return C

    a, b = whole(2, 64, 64), whole(3, 64, 64)
    check(multiplied, a, b, expected=a.astype(np.float32) @ b.astype(np.float32))


def test_a_barrier_id_that_is_a_constant_of_the_language():
    @tw.jit
    def met(A):
        A: T.Tensor((128,), "float16")
        Out = T.empty((128,), "float16")
        with T.Kernel(1, threads=128):
            staged = T.alloc_shared((128,), "float16")
            tx = T.get_thread_binding()
            id = T.int32(4)
            staged[tx] = A[tx]
            T.sync_threads(id, T.int32(128))
            Out[tx] = staged[127 - tx]
        return Out

    a = whole(4, 128)
    check(met, a, expected=a[::-1])
    module, _ = lowered(met, a)
    assert "named_barrier_sync(4, 128)" in source_of(module)


def test_a_barrier_id_that_is_a_run_time_value_is_told_at_its_line():
    """It ended in an AttributeError of the tracer."""

    @tw.jit
    def met(A):
        A: T.Tensor((256,), "float16")
        Out = T.empty((256,), "float16")
        with T.Kernel(1, threads=256):
            tx = T.get_thread_binding()
            T.sync_threads(tx // 128 + 1, 128)
            Out[tx] = A[tx]
        return Out

    with pytest.raises(CompileError) as error:
        met(whole(5, 256))
    assert re.search(
        r"test_raw_copies\.py:\d+:\d+: error\[TW\d+\]: barrier_id of a named barrier must be "
        r"known at compile time, got a run-time value",
        str(error.value),
    )
