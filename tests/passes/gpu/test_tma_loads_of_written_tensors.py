"""TMA loads what threads of the same kernel have written: they meet, behind a fence for tensors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.targets.cuda.emit.kernel import emit_kernel, kernels_of
from tilewright.targets.cuda.nvrtc import compile_source
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt

ROWS, COLUMNS = 16, 64


@T.prim_func
def by_all_threads(
    A: T.Tensor((2 * ROWS, COLUMNS), "float16"),
    B: T.Tensor((2 * ROWS, COLUMNS), "float16"),
    D: T.Tensor((2 * ROWS, COLUMNS), "float16"),
):
    with T.Kernel(2, threads=128) as block:
        tile = T.alloc_shared((ROWS, COLUMNS), "float16")
        full = T.alloc_barrier(128)
        for i, j in T.Parallel(ROWS, COLUMNS):
            B[block * ROWS + i, j] = A[block * ROWS + i, j] * 2
        T.tma_copy(B[block * ROWS, 0], tile, barrier=full[0])
        T.mbarrier_arrive(full[0])
        T.mbarrier_wait_parity(full[0], 0)
        for i, j in T.Parallel(ROWS, COLUMNS):
            D[block * ROWS + i, j] = tile[ROWS - 1 - i, j] + 1


@T.prim_func
def by_the_threads_of_a_role(
    A: T.Tensor((2 * ROWS, COLUMNS), "float16"),
    B: T.Tensor((2 * ROWS, COLUMNS), "float16"),
    D: T.Tensor((2 * ROWS, COLUMNS), "float16"),
):
    with T.Kernel(2, threads=256) as block:
        tile = T.alloc_shared((ROWS, COLUMNS), "float16")
        full = T.alloc_barrier(128)
        with T.ws(0):
            for i, j in T.Parallel(ROWS, COLUMNS):
                B[block * ROWS + i, j] = A[block * ROWS + i, j] * 2
            T.tma_copy(B[block * ROWS, 0], tile, barrier=full[0])
            T.mbarrier_arrive(full[0])
        with T.ws(1):
            T.mbarrier_wait_parity(full[0], 0)
            for i, j in T.Parallel(ROWS, COLUMNS):
                D[block * ROWS + i, j] = tile[ROWS - 1 - i, j] + 1


@T.prim_func
def by_another_role(
    A: T.Tensor((2 * ROWS, COLUMNS), "float16"),
    B: T.Tensor((2 * ROWS, COLUMNS), "float16"),
    D: T.Tensor((2 * ROWS, COLUMNS), "float16"),
):
    with T.Kernel(2, threads=256) as block:
        tile = T.alloc_shared((ROWS, COLUMNS), "float16")
        full = T.alloc_barrier(128)
        ready = T.alloc_barrier(128)
        with T.ws(0):
            for i, j in T.Parallel(ROWS, COLUMNS):
                B[block * ROWS + i, j] = A[block * ROWS + i, j] * 2
            T.mbarrier_arrive(ready[0])
        with T.ws(1):
            T.mbarrier_wait_parity(ready[0], 0)
            T.tma_copy(B[block * ROWS, 0], tile, barrier=full[0])
            T.mbarrier_arrive(full[0])
            T.mbarrier_wait_parity(full[0], 0)
            for i, j in T.Parallel(ROWS, COLUMNS):
                D[block * ROWS + i, j] = tile[ROWS - 1 - i, j] + 1


@T.prim_func
def before_it_is_written(
    A: T.Tensor((2 * ROWS, COLUMNS), "float16"),
    B: T.Tensor((2 * ROWS, COLUMNS), "float16"),
    D: T.Tensor((2 * ROWS, COLUMNS), "float16"),
):
    with T.Kernel(2, threads=128) as block:
        tile = T.alloc_shared((ROWS, COLUMNS), "float16")
        full = T.alloc_barrier(128)
        T.tma_copy(A[block * ROWS, 0], tile, barrier=full[0])
        T.mbarrier_arrive(full[0])
        T.mbarrier_wait_parity(full[0], 0)
        for i, j in T.Parallel(ROWS, COLUMNS):
            A[block * ROWS + i, j] = tile[i, j] * 2
            B[block * ROWS + i, j] = tile[i, j] * 2
            D[block * ROWS + i, j] = tile[ROWS - 1 - i, j] * 2 + 1


STEPS = {
    by_all_threads: ["store", "fence_async_all", "__syncthreads", "tma_load"],
    by_the_threads_of_a_role: ["store", "fence_async_all", "named_barrier_sync", "tma_load"],
    by_another_role: ["store", "fence_async_all", "barrier_arrive", "barrier_wait", "tma_load"],
    before_it_is_written: ["tma_load", "barrier_arrive", "barrier_wait", "store"],
}
"""What happens from the first access to the tensor to the last."""


@pytest.mark.parametrize("kernel", STEPS)
def test_threads_meet_behind_a_fence_before_tma_loads_what_they_wrote(kernel: Any) -> None:
    module = lowered(kernel.module.clone())
    (function,) = kernels_of(module)
    text = emit_kernel(function).text
    name = "A" if kernel is before_it_is_written else "B"
    words = re.findall(
        rf"uint4\*>\({name} \+[^;]*\) = |\w*(?:fence_async\w*|barrier_sync|__syncthreads|tma_load"
        r"|barrier_arrive|barrier_wait)(?=\(\w*.*;)",
        text[text.index("__global__") :],
    )
    steps = ["store" if "uint4" in each else each for each in words]
    ends = sorted((steps.index("store"), steps.index("tma_load")))
    assert steps[ends[0] : ends[1] + 1] == STEPS[kernel]
    assert compile_source(text, "sm_90a").cubin[:4] == b"\x7fELF"


@pytest.mark.parametrize("kernel", STEPS)
def test_values(kernel: Any) -> None:
    a = np.random.default_rng(1).integers(-9, 9, (2 * ROWS, COLUMNS)).astype(np.float16)
    given = [a.copy(), np.zeros_like(a), np.zeros_like(a)]
    compile_simt(lowered(kernel.module.clone())).launch(
        [Buffer(name, each) for name, each in zip("ABD", given, strict=True)]
    )
    turned = a.reshape(2, ROWS, COLUMNS)[:, ::-1].reshape(a.shape)
    np.testing.assert_array_equal(given[1], a * 2)
    np.testing.assert_array_equal(given[2], turned * 2 + 1)
