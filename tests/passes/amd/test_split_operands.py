"""Kernels whose tiles exceed the LDS of a block: operands in parts, and what remains an error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.language.T.prim_func import PrimFunc
from tilewright.passes.amd.pipeline import AmdPipeline
from tilewright.passes.amd.split_operands import SPLIT
from tilewright.targets.hip.compile import Lowered, lower_module
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

PARTS = "in {} parts"


def scaled_gemm(rows: int, depth: int, *, is_conditional: bool = False) -> PrimFunc:
    """C = A (2 B): B goes through registers, A is copied."""

    @T.prim_func
    def kernel(
        A: T.Tensor((rows, 2 * depth), "float16"),
        B: T.Tensor((2 * depth, 64), "float16"),
        C: T.Tensor((rows, 64), "float32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((rows, depth), "float16")
            B_shared = T.alloc_shared((depth, 64), "float16")
            B_local = T.alloc_fragment((depth, 64), "float16")
            C_local = T.alloc_fragment((rows, 64), "float32")
            if not is_conditional:
                T.clear(C_local)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * depth], A_shared)
                T.copy(B[k * depth, 0], B_local)
                for i, j in T.Parallel(depth, 64):
                    B_shared[i, j] = B_local[i, j] * 2
                if is_conditional:
                    T.gemm(A_shared, B_shared, C_local, clear_accum=k == 0)
                else:
                    T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C)

    return kernel


def lowered(kernel: PrimFunc, arch: str) -> Lowered:
    return lower_module(kernel.module, AmdPipeline(target=f"hip:{arch}"))


def remarks(found: Lowered) -> list[str]:
    return [each.message for each in found.diagnostics if each.code == SPLIT]


@pytest.mark.parametrize(("arch", "is_conditional"), [("gfx942", False), ("gfx1100", True)])
def test_an_operand_that_does_not_fit_is_filled_in_parts(arch: str, is_conditional: bool) -> None:
    kernel = scaled_gemm(128, 256, is_conditional=is_conditional)  # A alone takes 64 KiB
    found = lowered(kernel, arch)
    assert found.sources[0].shared_bytes <= 65536
    assert [PARTS.format(2) in each or PARTS.format(4) in each for each in remarks(found)] == [True]
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((128, 512), (512, 64)))
    c = np.zeros((128, 64), np.float32)
    buffers: list[Any] = [Buffer(*each) for each in zip("ABC", (a, b, c), strict=True)]
    compile_simt(found.module).launch(buffers, SimtOptions(schedules=2))
    np.testing.assert_array_equal(c, 2 * (a.astype(np.float32) @ b.astype(np.float32)))


def test_what_fits_is_not_split() -> None:
    assert remarks(lowered(scaled_gemm(64, 64), "gfx942")) == []


def test_two_tiles_that_threads_read_do_not_fit_in_any_form() -> None:
    @T.prim_func
    def kernel(A: T.Tensor((128, 256), "float16"), B: T.Tensor((128, 256), "float16")):
        with T.Kernel(1, threads=128):
            one = T.alloc_shared((128, 256), "float16")
            other = T.alloc_shared((128, 256), "float16")
            T.copy(A, one)
            T.copy(B, other)
            for i, j in T.Parallel(128, 256):
                B[i, j] = one[127 - i, j] + other[127 - i, 255 - j]

    with pytest.raises(CompileError, match="'one' with 32768 B instead of 65536 B, 'other' with"):
        lowered(kernel, "gfx942")
