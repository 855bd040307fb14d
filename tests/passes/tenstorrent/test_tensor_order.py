"""Tensors that one block reads and writes: what reader and writer keep in order, and what not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.targets.tenstorrent.matrix import Traced, differences
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.tenstorrent.artefact import Executor
from tilewright.targets.tenstorrent.execution import RunOptions


def values(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)


def agree(kernel: Any, *inputs: Any, executor: Executor = Executor.IR) -> None:
    traced = Traced(kernel, inputs)
    artefact = traced.compiled("2x1")
    for seed in range(4):
        run = artefact.run(traced.arrays(), RunOptions(seed=seed), executor)
        assert differences(run.arrays, traced.expected()) == []


def refusal(kernel: Any, *inputs: Any) -> str:
    with pytest.raises(CompileError) as caught:
        Traced(kernel, inputs).compiled("2x1")
    return str(caught.value)


def test_a_tensor_is_updated_in_place_block_by_block() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 96), T.float32)):
        with T.Kernel(3, 2) as (bx, by):
            a = T.alloc_shared((32, 32), T.float32)
            T.copy(A[by * 32, bx * 32], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] * 3 - 1
            T.copy(a, A[by * 32, bx * 32])

    agree(kernel, values(64, 96))


def test_a_tensor_is_updated_in_place_in_a_loop() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((128, 64), T.float32)):
        with T.Kernel(2) as bx:
            a = T.alloc_fragment((32, 32), T.float32)
            for r in T.serial(4):
                T.copy(A[r * 32, bx * 32], a)
                for i, j in T.Parallel(32, 32):
                    a[i, j] = a[i, j] * 2
                T.copy(a, A[r * 32, bx * 32])

    agree(kernel, values(128, 64))


def test_a_second_loop_over_a_row_of_blocks_overwrites_what_the_first_has_read() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 96), T.float32)):
        with T.Kernel(2) as by:
            a = T.alloc_fragment((32, 32), T.float32)
            total = T.alloc_fragment((32,), T.float32)
            T.clear(total)
            for k in T.serial(3):
                T.copy(A[by * 32, k * 32], a)
                T.reduce_sum(a, total, dim=1, clear=False)
            for k in T.serial(3):
                T.copy(A[by * 32, k * 32], a)
                for i, j in T.Parallel(32, 32):
                    a[i, j] = a[i, j] - total[i]
                T.copy(a, A[by * 32, k * 32])

    agree(kernel, values(64, 96))


def test_a_gemm_replaces_its_left_operand() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 32), T.float32), B: T.Tensor((32, 32), T.float32)):
        with T.Kernel(2) as by:
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_shared((32, 32), T.float32)
            c = T.alloc_fragment((32, 32), T.float32)
            T.clear(c)
            for k in T.Pipelined(1, num_stages=2):
                T.copy(A[by * 32, k * 32], a)
                T.copy(B[k * 32, 0], b)
                T.gemm(a, b, c)
            T.copy(c, A[by * 32, 0])

    agree(kernel, values(64, 32), values(32, 32))


def test_one_half_of_a_block_is_replaced_by_the_other() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((128, 32), T.float32)):
        with T.Kernel(2) as bx:
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_shared((32, 32), T.float32)
            T.copy(A[bx * 64, 0], a)
            T.copy(a, A[bx * 64 + 32, 0])
            T.copy(A[bx * 64, 0], b)
            for i, j in T.Parallel(32, 32):
                b[i, j] = b[i, j] + 1
            T.copy(b, A[bx * 64, 0])

    agree(kernel, values(128, 32))


@pytest.mark.parametrize("executor", Executor)
def test_one_block_may_write_a_page_several_times(executor: Executor) -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 96), T.float32), B: T.Tensor((64, 32), T.float32)):
        with T.Kernel(2) as by:
            a = T.alloc_fragment((32, 32), T.float32)
            b = T.alloc_fragment((32, 32), T.float32)
            T.clear(b)
            T.copy(b, B[by * 32, 0])
            for k in T.serial(3):
                T.copy(A[by * 32, k * 32], a)
                for i, j in T.Parallel(32, 32):
                    b[i, j] = b[i, j] * 2 + a[i, j]
                T.copy(b, B[by * 32, 0])

    agree(kernel, values(64, 96), executor=executor)


def test_a_read_after_a_write_of_the_same_block_is_refused() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 32), T.float32)):
        with T.Kernel(2) as by:
            a = T.alloc_shared((32, 32), T.float32)
            T.copy(A[by * 32, 0], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] * 3
            T.copy(a, A[by * 32, 0])
            T.copy(A[by * 32, 0], a)
            for i, j in T.Parallel(32, 32):
                a[i, j] = a[i, j] + 1
            T.copy(a, A[by * 32, 0])

    text = refusal(kernel, values(64, 32))
    assert "error[TW7031]: 'A' is read after the same block has written it" in text
    assert "note: written here" in text


def test_a_recurrence_through_dram_is_refused() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((128, 32), T.float32)):
        with T.Kernel(1) as _:
            a = T.alloc_fragment((32, 32), T.float32)
            b = T.alloc_fragment((32, 32), T.float32)
            for r in T.serial(3):
                T.copy(A[r * 32, 0], a)
                T.copy(A[r * 32 + 32, 0], b)
                for i, j in T.Parallel(32, 32):
                    b[i, j] = b[i, j] + a[i, j]
                T.copy(b, A[r * 32 + 32, 0])

    text = refusal(kernel, values(128, 32))
    assert "error[TW7031]: 'A' is read after the same block has written it in an earlier" in text


def test_the_exchange_of_two_tensors_is_refused() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 32), T.float32), B: T.Tensor((64, 32), T.float32)):
        with T.Kernel(2) as by:
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_shared((32, 32), T.float32)
            T.copy(A[by * 32, 0], a)
            T.copy(B[by * 32, 0], b)
            T.copy(a, B[by * 32, 0])
            T.copy(b, A[by * 32, 0])

    text = refusal(kernel, values(64, 32), values(64, 32))
    assert "error[TW7031]: 'B' is written after the same block has read it, but" in text
    assert "note: read here" in text


def test_a_tensor_that_is_reset_after_it_was_read_is_refused() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 32), T.float32), B: T.Tensor((64, 32), T.float32)):
        with T.Kernel(2) as by:
            a = T.alloc_shared((32, 32), T.float32)
            zero = T.alloc_shared((32, 32), T.float32)
            T.copy(A[by * 32, 0], a)
            T.clear(zero)
            T.copy(zero, A[by * 32, 0])
            T.copy(a, B[by * 32, 0])

    assert "error[TW7031]: 'A' is written after" in refusal(kernel, values(64, 32), values(64, 32))
