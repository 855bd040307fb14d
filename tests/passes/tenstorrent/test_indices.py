"""Index arithmetic of kernels: quotients, remainders, loops with steps, in both executors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.targets.tenstorrent.matrix import Traced
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.tenstorrent.artefact import Artefact, Executor
from tilewright.targets.tenstorrent.execution import RunOptions


def agree(kernel: Any, *inputs: Any) -> Artefact:
    traced = Traced(kernel, inputs)
    artefact = traced.compiled("2x2")
    for executor in Executor:
        run = artefact.run(traced.arrays(), RunOptions(seed=1), executor)
        for name, array in run.arrays.items():
            np.testing.assert_array_equal(array, traced.expected()[name])
    return artefact


def values(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)


def test_quotient_and_remainder_of_a_block_index() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((2, 3, 40, 50), T.float32), B: T.Tensor((3, 2, 40, 50), T.float32)):
        with T.Kernel(2, 2, 6) as (bx, by, bz):
            a = T.alloc_shared((32, 32), T.float32)
            T.copy(A[bz // 3, bz % 3, by * 32, bx * 32], a)
            T.copy(a, B[bz % 3, bz // 3, by * 32, bx * 32])

    reader = agree(kernel, values(2, 3, 40, 50)).sources()["reader.cpp"]
    assert "int32_t(" not in reader.replace("uint32_t", ""), "the division is unsigned"


def test_a_quotient_that_rounds_down_below_zero() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((128, 32), T.float32), B: T.Tensor((128, 32), T.float32)):
        with T.Kernel(4) as bx:
            a = T.alloc_shared((32, 32), T.float32)
            T.copy(A[((bx - 3) // 2 + 2) * 32, 0], a)
            T.copy(a, B[bx * 32, 0])

    agree(kernel, values(128, 32))


def test_a_loop_with_a_step() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((256, 32), T.float32), B: T.Tensor((32, 32), T.float32)):
        with T.Kernel(1) as _:
            a = T.alloc_fragment((32, 32), T.float32)
            b = T.alloc_fragment((32, 32), T.float32)
            T.clear(b)
            for t in T.serial(32, 256, 64):
                T.copy(A[t, 0], a)
                for i, j in T.Parallel(32, 32):
                    b[i, j] = b[i, j] + a[i, j]
            T.copy(b, B)

    agree(kernel, values(256, 32))


def test_an_offset_below_zero_is_refused() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((96, 32), T.float32), B: T.Tensor((96, 32), T.float32)):
        with T.Kernel(3) as bx:
            a = T.alloc_shared((32, 32), T.float32)
            T.copy(A[bx * 32 - 32, 0], a)
            T.copy(a, B[bx * 32, 0])

    with pytest.raises(CompileError, match="dimension 0 is negative, down to -32"):
        Traced(kernel, (values(96, 32),)).compiled("2x2")


def test_the_condition_that_the_refusal_recommends() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((96, 32), T.float32), B: T.Tensor((96, 32), T.float32)):
        with T.Kernel(3) as bx:
            a = T.alloc_fragment((32, 32), T.float32)
            T.clear(a)
            if bx > 0:
                T.copy(A[bx * 32 - 32, 0], a)
            T.copy(a, B[bx * 32, 0])

    agree(kernel, values(96, 32))
