"""Atomic updates of a tensor have no order among themselves, but one with plain accesses to it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.dialects.gpu import BarrierOp
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt
from tilewright.targets.numpy.simt.api import SimtFault

SIZE = 128


@T.prim_func
def written_read_updated(
    A: T.Tensor((SIZE,), "int32"), H: T.Tensor((SIZE,), "int32"), B: T.Tensor((SIZE,), "int32")
):
    with T.Kernel(1, threads=SIZE):
        for i in T.Parallel(SIZE):
            H[i] = A[i]
        for i in T.Parallel(SIZE):
            B[i] = H[SIZE - 1 - i] * 2
        for i in T.Parallel(SIZE):
            T.atomic_add(H[i], 1)


@T.prim_func
def updated_read(
    A: T.Tensor((SIZE,), "int32"), H: T.Tensor((SIZE,), "int32"), B: T.Tensor((SIZE,), "int32")
):
    with T.Kernel(1, threads=SIZE):
        for i in T.Parallel(SIZE):
            T.atomic_add(H[SIZE - 1 - i], A[i])
        for i in T.Parallel(SIZE):
            B[i] = H[i] * 2


@T.prim_func
def read_updated(
    A: T.Tensor((SIZE,), "int32"), H: T.Tensor((SIZE,), "int32"), B: T.Tensor((SIZE,), "int32")
):
    with T.Kernel(1, threads=SIZE):
        for i in T.Parallel(SIZE):
            B[i] = H[i] * 2
        for i in T.Parallel(SIZE):
            T.atomic_add(H[SIZE - 1 - i], A[i])


@T.prim_func
def updated_read_in_a_loop(
    A: T.Tensor((SIZE,), "int32"), H: T.Tensor((SIZE,), "int32"), B: T.Tensor((SIZE,), "int32")
):
    with T.Kernel(1, threads=SIZE):
        for _ in T.serial(3):
            for i in T.Parallel(SIZE):
                T.atomic_add(H[SIZE - 1 - i], A[i])
            for i in T.Parallel(SIZE):
                B[i] += H[i]


@T.prim_func
def written_beside_an_atomic(
    A: T.Tensor((SIZE,), "int32"), H: T.Tensor((SIZE,), "int32"), B: T.Tensor((SIZE,), "int32")
):
    with T.Kernel(1, threads=SIZE):
        for i in T.Parallel(SIZE):
            H[i] = A[i]
            T.atomic_add(B[0], 1)
        for i in T.Parallel(SIZE):
            T.atomic_add(H[SIZE - 1 - i], 1)


@T.prim_func
def updates_alone(
    A: T.Tensor((SIZE,), "int32"), H: T.Tensor((SIZE,), "int32"), B: T.Tensor((SIZE,), "int32")
):
    with T.Kernel(1, threads=SIZE):
        for _ in T.serial(3):
            for i in T.Parallel(SIZE):
                T.atomic_add(H[A[i]], 1)
            for i in T.Parallel(SIZE):
                T.atomic_add(H[SIZE - 1 - i], 1)
        B[0] = 7


@T.prim_func
def read_before_updates_in_a_loop(
    A: T.Tensor((SIZE,), "int32"), H: T.Tensor((SIZE,), "int32"), B: T.Tensor((SIZE,), "int32")
):
    with T.Kernel(1, threads=SIZE):
        for i in T.Parallel(SIZE):
            B[i] = H[i]
        for _ in T.serial(3):
            for i in T.Parallel(SIZE):
                T.atomic_add(H[A[i]], 1)


BARRIERS = [
    (written_read_updated, 2),
    (updated_read, 1),
    (read_updated, 1),
    (updated_read_in_a_loop, 2),
    (written_beside_an_atomic, 1),
    (updates_alone, 0),
    (read_before_updates_in_a_loop, 1),
]


@pytest.mark.parametrize(("kernel", "count"), BARRIERS)
def test_barriers_between_atomics_and_plain_accesses(kernel: Any, count: int) -> None:
    module = lowered(kernel.module.clone())
    (function,) = kernels_of(module)
    assert emit_kernel(function).text.count("__syncthreads") == count
    rng = np.random.default_rng(3)
    given = [rng.integers(0, SIZE, SIZE).astype(np.int32) for _ in range(3)]
    wanted = [each.copy() for each in given]
    tw.compile(kernel, target="numpy")(*wanted)
    compile_simt(module).launch(
        [Buffer(name, each) for name, each in zip("AHB", given, strict=True)]
    )
    for mine, theirs in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("kernel", [each for each, count in BARRIERS if count])
def test_the_executor_reports_each_barrier_that_is_missing(kernel: Any) -> None:
    count = dict(BARRIERS)[kernel]
    for number in range(count):
        module = lowered(kernel.module.clone())
        (function,) = kernels_of(module)
        barrier = [op for op in function.walk() if isinstance(op, BarrierOp)][number]
        barrier.detach()
        barrier.erase()
        given = [Buffer(name, np.zeros(SIZE, np.int32)) for name in "AHB"]
        with pytest.raises(SimtFault, match="nothing orders it after"):
            compile_simt(module).launch(given)
