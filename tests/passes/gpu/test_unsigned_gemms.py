"""GEMMs of 8-bit integers read each operand with the sign that its buffer was declared with."""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.fuzz.test_gpu_kernels import PATHS
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.language.T.prim_func import PrimFunc
from tilewright.targets.cuda.compile import compile_module
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

SIDE, ODD = 64, 5
"""Tensor cores cannot multiply a matrix of 5 x 5."""


def gemm(a: str, b: str, *, transposed: bool, in_registers: bool, side: int = SIDE) -> PrimFunc:
    @T.prim_func
    def kernel(
        A: T.Tensor((side, side), a),
        B: T.Tensor((side, side), b),
        C: T.Tensor((side, side), "int32"),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((side, side), a)
            B_shared = T.alloc_shared((side, side), b)
            C_local = T.alloc_fragment((side, side), "int32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            if in_registers:
                A_local = T.alloc_fragment((side, side), a)
                T.copy(A_shared, A_local)
                T.gemm(A_local, B_shared, C_local, transpose_B=transposed, clear_accum=True)
            else:
                T.gemm(A_shared, B_shared, C_local, transpose_B=transposed, clear_accum=True)
            T.copy(C_local, C)

    return kernel


@pytest.mark.parametrize("path", range(len(PATHS)))
@pytest.mark.parametrize("side", [SIDE, ODD])
@pytest.mark.parametrize(
    ("a", "b", "transposed", "in_registers"),
    [
        ("uint8", "uint8", True, False),
        ("uint8", "int8", True, False),
        ("int8", "uint8", False, False),
        ("uint8", "uint8", True, True),
    ],
)
def test_values(a: str, b: str, transposed: bool, in_registers: bool, side: int, path: int) -> None:
    rng = np.random.default_rng(3)
    left, right = (rng.integers(0, 256, (side, side)).astype(np.uint8) for _ in range(2))
    left, right = left.view(a), right.view(b)
    function = gemm(a, b, transposed=transposed, in_registers=in_registers, side=side)
    module = function.module.clone()
    PATHS[path].run(module, engine := DiagnosticEngine())
    engine.raise_if_errors()
    found = np.zeros((side, side), np.int32)
    arguments = [Buffer("A", left), Buffer("B", right), Buffer("C", found)]
    compile_simt(module).launch(arguments, SimtOptions())
    expected = left.astype(np.int32) @ (right.T if transposed else right).astype(np.int32)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("a", "b", "transposed", "instruction"),
    [
        ("uint8", "int8", True, "wgmma_m64n64k32_s32_u8_s8"),
        ("int8", "uint8", False, "mma_m16n8k32_s32_s8_u8"),
        ("int8", "int8", True, "wgmma_m64n64k32_s32_s8_s8"),
    ],
)
def test_instructions(a: str, b: str, transposed: bool, instruction: str) -> None:
    module = gemm(a, b, transposed=transposed, in_registers=False).module
    (kernel,) = compile_module(module, "sm_90a").kernels.values()
    assert set(re.findall(r"tw::(w?g?mma_m\w+)\(", kernel.source)) == {instruction}
