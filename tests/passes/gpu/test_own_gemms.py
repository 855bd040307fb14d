"""GEMMs on arrays of one thread: whole on the NumPy target, loops of each thread on GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.targets.numpy.simt.simt_support import lowered
from tilewright import T
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy.simt import Buffer, compile_simt

M, N, K, THREADS = 3, 4, 5, 32


def of_each_thread(transpose: bool, dtype: str = "float32", clear: bool = False) -> Any:
    left, right = ((K, M), (N, K)) if transpose else ((M, K), (K, N))

    @T.prim_func
    def main(
        A: T.Tensor((THREADS, *left), dtype),
        B: T.Tensor((THREADS, *right), dtype),
        C: T.Tensor((THREADS, M, N), dtype),
    ):
        with T.Kernel(1, threads=THREADS):
            tx = T.get_thread_binding()
            A_local = T.alloc_local(left, dtype)
            B_local = T.alloc_local(right, dtype)
            C_local = T.alloc_local((M, N), dtype)
            T.copy(A[tx, :, :], A_local)
            T.copy(B[tx, :, :], B_local)
            T.copy(C[tx, :, :], C_local)
            T.gemm(A_local, B_local, C_local, transpose, transpose, clear_accum=clear)
            T.copy(C_local, C[tx, :, :])

    return main


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
@pytest.mark.parametrize("clear", [False, True])
def test_threads_multiply_their_own(transpose: bool, dtype: str, clear: bool) -> None:
    rng = np.random.default_rng(4)
    a, b, c = (
        rng.integers(-4, 5, (THREADS, *shape)).astype(dtype) for shape in ((M, K), (K, N), (M, N))
    )
    expected = a @ b if clear else a @ b + c
    if transpose:
        a, b = (np.ascontiguousarray(each.transpose(0, 2, 1)) for each in (a, b))
    kernel = of_each_thread(transpose, dtype, clear).module
    module = lowered(kernel.clone(), GpuPipeline(target="cuda:sm_90a"))
    compile_simt(module).launch([Buffer("A", a), Buffer("B", b), Buffer("C", c)])
    np.testing.assert_array_equal(c, expected)


def test_they_stay_in_registers() -> None:
    program = compile_module(of_each_thread(False).module, "sm_90a")
    (kernel,) = program.kernels.values()
    assert kernel.metadata.stack_bytes == 0


def blocked(size: int, block: int) -> Any:
    @T.prim_func
    def main(
        A: T.Tensor((size, size), "float32"),
        B: T.Tensor((size, size), "float32"),
        C: T.Tensor((size, size), "float32"),
    ):
        with T.Kernel(size // block, size // block) as (bx, by):
            A_local = T.alloc_local((block, block), "float32")
            B_local = T.alloc_local((block, block), "float32")
            C_local = T.alloc_local((block, block), "float32")
            T.clear(C_local)
            for k in T.serial(size // block):
                T.copy(A[by * block, k * block], A_local)
                T.copy(B[k * block, bx * block], B_local)
                T.gemm(A_local, B_local, C_local)
            T.copy(C_local, C[by * block, bx * block])

    return main


def test_on_a_cpu() -> None:
    rng = np.random.default_rng(5)
    a, b = (rng.integers(-4, 5, (96, 96)).astype(np.float32) for _ in range(2))
    c = np.full((96, 96), np.nan, np.float32)
    tw.compile(blocked(96, 32))(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_other_memory_beside_them() -> None:
    def kernel() -> Any:
        @T.prim_func
        def main(A: T.Tensor((16, 16), "float32")):
            with T.Kernel(1, threads=32):
                S = T.alloc_shared((16, 16), "float32")
                L = T.alloc_local((16, 16), "float32")
                T.copy(A, S)
                T.gemm(S, S, L)

        return main

    with pytest.raises(tw.CompileError, match="must be an array of one thread, as C is"):
        kernel()
