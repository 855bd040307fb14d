"""Which matrix instruction an AMD GPU uses for a GEMM, and the layouts that follow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.passes.amd.amd_support import amd_pipeline
from tilewright import T
from tilewright.analysis.layout_inference.amd_gemms import accumulator, operand_a, partition
from tilewright.analysis.layout_inference.amd_storage import COLUMNS, ROWS, contiguous_axes
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.dialects.amd.ops import MatrixCoreOp, matrix_core
from tilewright.dialects.tile import AllocOp
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import CHIPS

STAGED = "TW2023"


def chained(m: int, n: int, width: int, threads: int = 128) -> Any:
    """Two GEMMs, the result of the first in registers for the second."""

    @T.prim_func
    def kernel(
        A: T.Tensor((m, 64), "float16"),
        B: T.Tensor((n, 64), "float16"),
        V: T.Tensor((n, width), "float16"),
        C: T.Tensor((m, width), "float32"),
    ):
        with T.Kernel(1, threads=threads):
            A_shared = T.alloc_shared((m, 64), "float16")
            B_shared = T.alloc_shared((n, 64), "float16")
            V_shared = T.alloc_shared((n, width), "float16")
            scores = T.alloc_fragment((m, n), "float32")
            weights = T.alloc_fragment((m, n), "float16")
            out = T.alloc_fragment((m, width), "float32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.copy(V, V_shared)
            T.gemm(A_shared, B_shared, scores, transpose_B=True, clear_accum=True)
            T.copy(scores, weights)
            T.gemm(weights, V_shared, out, clear_accum=True)
            T.copy(out, C)

    return kernel


def single(
    m: int, n: int, k: int, threads: int, dtype: str = "float16", accumulated: str = "float32"
) -> Any:
    @T.prim_func
    def kernel(
        A: T.Tensor((m, k), dtype), B: T.Tensor((k, n), dtype), C: T.Tensor((m, n), accumulated)
    ):
        with T.Kernel(1, threads=threads):
            A_shared = T.alloc_shared((m, k), dtype)
            B_shared = T.alloc_shared((k, n), dtype)
            C_local = T.alloc_fragment((m, n), accumulated)
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.gemm(A_shared, B_shared, C_local, clear_accum=True)
            T.copy(C_local, C)

    return kernel


def lowered(arch: str, kernel: Any) -> tuple[set[tuple[int, int, int]], list[Diagnostic]]:
    """The shapes of instructions, and what was reported."""
    engine = DiagnosticEngine()
    amd_pipeline(arch).run(kernel.module, engine)
    engine.raise_if_errors()
    ops = {op.mnk for op in walk(kernel.module) if isinstance(op, MatrixCoreOp)}
    return ops, list(engine.diagnostics)


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_the_result_of_one_gemm_is_an_operand_of_the_next_in_registers(arch: str) -> None:
    shapes, found = lowered(arch, chained(64, 64, 64))
    assert {shape[0] for shape in shapes} == {16}
    assert not [each for each in found if each.code == STAGED]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950", "gfx1201"])
def test_accumulators_are_operands_register_by_register(arch: str) -> None:
    for instruction in CHIPS[arch].instructions_for("f16", "f16"):
        core = matrix_core(instruction)
        plan = GemmPlan("", (2, 1), instruction.shape, transposed=True, k_width=core.run)
        shape = (4 * core.side, 2 * max(core.side, core.k))
        accumulated, operand = accumulator(shape, plan, core), operand_a(shape, plan, core)
        np.testing.assert_array_equal(accumulated.registers, operand.registers)
        np.testing.assert_array_equal(accumulated.owners, operand.owners)


def message(arch: str, kernel: Any) -> list[str]:
    _, found = lowered(arch, kernel)
    return [
        line
        for each in found
        if each.code == "TW3008"
        for line in (each.message, *(note.message for note in each.notes))
    ]


@pytest.mark.parametrize(
    ("arch", "make", "expected"),
    [
        (
            "gfx942",
            lambda: single(24, 32, 32, 64),
            [
                "matrix instructions not used for this GEMM: M = 24 is not a multiple of 16: gfx942 has "
                "32x32x8, 16x16x16 for float16",
                "help: use tiles with M = 32: T.copy pads with zeros past the end of the tensor",
            ],
        ),
        (
            "gfx1100",
            lambda: single(32, 32, 24, 64),
            [
                "matrix instructions not used for this GEMM: K = 24 is not a multiple of 16: gfx1100 has "
                "16x16x16 for float16",
                "help: use tiles with K = 32: T.copy pads with zeros past the end of the tensor",
            ],
        ),
        (
            "gfx942",
            lambda: single(16, 16, 8, 64),
            [
                "matrix instructions not used for this GEMM: 16 x 16 x 8 is not made up of whole "
                "instructions: gfx942 has 32x32x8, 16x16x16 for float16",
                "help: use tiles with K = 16: T.copy pads with zeros past the end of the tensor",
            ],
        ),
        (
            "gfx942",
            lambda: single(16, 16, 16, 256),
            [
                "matrix instructions not used for this GEMM: 16 x 16 cannot be split over 4 waves of 64 "
                "lanes: gfx942 has 32x32x8, 16x16x16 for float16",
                "help: use threads=64 or a larger tile",
            ],
        ),
        (
            "gfx90a",
            lambda: single(32, 32, 32, 64, "float64", "float64"),
            [
                "matrix instructions not used for this GEMM: the float64 matrix instructions of gfx90a "
                "are not supported",
                "help: convert the operands to one of float16, bfloat16, int8, float32, or "
                "multiply in a T.Parallel loop",
            ],
        ),
        (
            "gfx1201",
            lambda: single(32, 32, 32, 64, "float32"),
            [
                "matrix instructions not used for this GEMM: gfx1201 has no matrix instruction for "
                "float32 operands",
                "help: convert the operands to one of float16, bfloat16, float8_e4m3fn, "
                "float8_e5m2, int8, or multiply in a T.Parallel loop",
            ],
        ),
        (
            "gfx942",
            lambda: single(32, 32, 32, 64, "float16", "float16"),
            [
                "matrix instructions not used for this GEMM: matrix instructions with float16 operands "
                "accumulate in float32, the accumulator is float16",
                "help: accumulate in float32 and T.copy the result to float16",
            ],
        ),
        (
            "gfx90a",
            lambda: single(32, 32, 32, 64, "uint8", "int32"),
            [
                "matrix instructions not used for this GEMM: gfx90a multiplies signed bytes only, and an "
                "operand is uint8",
                "help: use int8 operands: subtract 128 from each element, and add 128 times each "
                "row or column total of the other operand to the result",
            ],
        ),
    ],
)
def test_what_a_chip_lacks(arch: str, make: Callable[[], Any], expected: list[str]) -> None:
    assert message(arch, make()) == expected


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((128, 256, 4, "square", 32), (2, 2)),
        ((128, 64, 4, "square", 16), (4, 1)),
        ((128, 64, 4, "full_row", 32), (4, 1)),
        ((128, 64, 4, "full_col", 16), (1, 4)),
        ((128, 64, 4, "full_col", 32), (2, 2)),
        ((48, 48, 4, "square", 32), None),
        ((128, 256, 4, "square", 32, (1,)), (4, 1)),
        ((128, 256, 4, "square", 32, (0,)), (1, 4)),
        ((128, 256, 4, "square", 32, (0, 1)), (2, 2)),
    ],
)
def test_partitions(arguments: tuple[Any, ...], expected: tuple[int, int] | None) -> None:
    assert partition(*arguments) == expected


def test_shared_operands_are_contiguous_along_k() -> None:
    module = chained(64, 64, 64).module
    (kernel,) = kernels(module)
    axes = {
        each.owner.buffer_name: axis
        for each, axis in contiguous_axes(kernel).items()
        if isinstance(each.owner, AllocOp)
    }
    assert axes == {"A_shared": ROWS, "B_shared": ROWS, "V_shared": COLUMNS}
