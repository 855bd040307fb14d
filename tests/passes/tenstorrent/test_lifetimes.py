"""Contents that are loaded, computed and stored in different loops, and outputs written in part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.targets.tenstorrent.matrix import Traced, differences
from tilewright import T
from tilewright.targets.tenstorrent.execution import RunOptions


def agree(kernel: Any, *inputs: Any, cores: str = "2x1") -> None:
    traced = Traced(kernel, inputs)
    artefact = traced.compiled(cores)
    for seed in range(3):
        run = artefact.run(traced.arrays(), RunOptions(seed=seed))
        assert differences(run.arrays, traced.expected()) == []


def values(*shape: int, dtype: Any = np.float32) -> Any:
    return np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)


def test_a_load_that_is_read_after_its_loop() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((32, 96), T.float32), B: T.Tensor((32, 32), T.float32)):
        with T.Kernel(1) as _:
            a = T.alloc_shared((32, 32), T.float32)
            b = T.alloc_fragment((32, 32), T.float32)
            T.clear(b)
            for k in T.serial(3):
                T.copy(A[0, k * 32], a)
                for i, j in T.Parallel(32, 32):
                    b[i, j] += a[i, j]
            for i, j in T.Parallel(32, 32):
                b[i, j] = b[i, j] * a[i, j]
            T.copy(b, B[0, 0])

    agree(kernel, values(32, 96))


def test_contents_that_several_iterations_store() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 32), T.float32), B: T.Tensor((64, 96), T.float32)):
        with T.Kernel(2) as by:
            a = T.alloc_shared((32, 32), T.float32)
            T.copy(A[by * 32, 0], a)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(a, B[by * 32, k * 32])

    agree(kernel, values(64, 32))


def test_contents_of_the_last_iteration_are_stored() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 96), T.float32), B: T.Tensor((64, 32), T.float32)):
        with T.Kernel(2) as by:
            a = T.alloc_shared((32, 32), T.float32)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[by * 32, k * 32], a)
            T.copy(a, B[by * 32, 0])

    agree(kernel, values(64, 96))


def test_pages_that_are_not_written_retain_their_contents() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((64, 64), T.float32), B: T.Tensor((64, 128), T.float32)):
        with T.Kernel(2, 2) as (bx, by):
            a = T.alloc_shared((32, 32), T.float32)
            T.copy(A[by * 32, bx * 32], a)
            if bx > 0:
                T.copy(a, B[by * 32, bx * 64])

    agree(kernel, values(64, 64))


def test_a_maximum_of_fp16_in_a_partly_filled_tile() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((32, 20), T.float16), B: T.Tensor((32,), T.float16)):
        with T.Kernel(1) as _:
            a = T.alloc_shared((32, 20), T.float16)
            o = T.alloc_fragment((32,), T.float16)
            T.copy(A, a)
            T.reduce_max(a, o, dim=1)
            T.copy(o, B)

    agree(kernel, values(32, 20, dtype=np.float16) - np.float16(20))


def test_one_of_two_outputs_of_a_loop_is_never_read() -> None:
    @T.prim_func
    def kernel(
        A: T.Tensor((32, 32), T.float32),
        D: T.Tensor((32,), T.float32),
        B: T.Tensor((32, 32), T.float32),
    ):
        with T.Kernel(1) as _:
            a = T.alloc_shared((32, 32), T.float32)
            d = T.alloc_shared((32,), T.float32)
            unread = T.alloc_fragment((32, 32), T.float32)
            T.copy(A, a)
            T.copy(D, d)
            for i, j in T.Parallel(32, 32):
                unread[i, j] = a[i, j] * d[j]
                a[i, j] = a[i, j] + 1
            T.copy(a, B)

    agree(kernel, values(32, 32), values(32))


@pytest.mark.parametrize("first", [0, 1])
def test_an_accumulator_that_one_iteration_clears(first: int) -> None:
    @T.prim_func
    def kernel(
        A: T.Tensor((32, 96), T.float32),
        D: T.Tensor((96, 32), T.float32),
        B: T.Tensor((32, 32), T.float32),
    ):
        with T.Kernel(1) as _:
            a = T.alloc_shared((32, 32), T.float32)
            d = T.alloc_shared((32, 32), T.float32)
            c = T.alloc_fragment((32, 32), T.float32)
            T.fill(c, 3)
            for k in T.Pipelined(3, num_stages=2):
                T.copy(A[0, k * 32], a)
                T.copy(D[k * 32, 0], d)
                T.gemm(a, d, c, clear_accum=k == first)
            T.copy(c, B)

    agree(kernel, values(32, 96), values(96, 32))


def test_an_expression_after_a_gemm_that_needs_all_of_dst() -> None:
    @T.prim_func
    def kernel(
        A: T.Tensor((64, 32), T.float32),
        D: T.Tensor((64, 64), T.float32),
        B: T.Tensor((64, 64), T.float32),
    ):
        with T.Kernel(1) as _:
            a = T.alloc_shared((64, 32), T.float32)
            d = T.alloc_shared((64, 64), T.float32)
            c = T.alloc_fragment((64, 64), T.float32)
            T.copy(A, a)
            T.copy(D, d)
            T.gemm(a, a, c, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(64, 64):
                c[i, j] = (T.max(c[i, j], d[i, j]) / (T.abs(c[i, j] - d[i, j]) + 1.0)) * (
                    T.min(c[i, j] * 0.5, d[i, j] * d[i, j])
                    - T.if_then_else(c[i, j] > d[i, j], T.tanh(c[i, j]), T.sigmoid(d[i, j]))
                )
            T.copy(c, B)

    agree(kernel, values(64, 32), values(64, 64))
