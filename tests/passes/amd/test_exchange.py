"""gfx11: the result of one GEMM becomes an operand of the next in registers of a wave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from tests.passes.amd.amd_support import amd_pipeline
from tilewright import T
from tilewright.analysis.layout_inference.amd_gemms import accumulator, operand_a
from tilewright.analysis.layout_inference.check import check
from tilewright.analysis.layout_inference.exchange import is_interleaved
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.analysis.layout_inference.plan import LayoutPlan
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.amd.ops import InterleaveOp, matrix_core
from tilewright.dialects.simt import names as simt_names
from tilewright.dialects.tile import CopyOp, KernelOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.layouts.hardware.amd_chips import CHIPS
from tilewright.passes.gpu.infer_layouts import InferLayouts
from tilewright.targets.numpy.simt import Buffer, SimtOptions, compile_simt

STAGED = "TW2023"
GFX11 = CHIPS["gfx1100"]


def two_gemms(dtype: str, accumulated: str, policy: Any = T.GemmWarpPolicy.Square) -> Any:
    """Scores, twice as large, times V; what a wave has of the second result is up to `policy`."""

    @T.prim_func
    def kernel(
        A: T.Tensor((64, 32), dtype),
        B: T.Tensor((48, 32), dtype),
        V: T.Tensor((48, 64), dtype),
        C: T.Tensor((64, 64), accumulated),
    ):
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 32), dtype)
            B_shared = T.alloc_shared((48, 32), dtype)
            V_shared = T.alloc_shared((48, 64), dtype)
            scores = T.alloc_fragment((64, 48), accumulated)
            weights = T.alloc_fragment((64, 48), dtype)
            out = T.alloc_fragment((64, 64), accumulated)
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.copy(V, V_shared)
            T.gemm(A_shared, B_shared, scores, transpose_B=True, clear_accum=True)
            for i, j in T.Parallel(64, 48):
                weights[i, j] = scores[i, j] * 2
            T.gemm(weights, V_shared, out, clear_accum=True, policy=policy)
            T.copy(out, C)

    return kernel


def lowered(kernel: Any) -> tuple[ModuleOp, list[str]]:
    module, engine = kernel.module.clone(), DiagnosticEngine()
    amd_pipeline("gfx1100").run(module, engine)
    engine.raise_if_errors()
    return module, [each.message for each in engine.diagnostics if each.code == STAGED]


def run(module: ModuleOp, dtype: str, accumulated: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    a, b, v = (rng.integers(-2, 3, shape).astype(dtype) for shape in ((64, 32), (48, 32), (48, 64)))
    c = np.zeros((64, 64), accumulated)
    buffers = [Buffer(name, array) for name, array in zip("ABVC", (a, b, v, c), strict=True)]
    compile_simt(module).launch(buffers, SimtOptions(schedules=2))
    scores = (a.astype(np.int32) @ b.astype(np.int32).T * 2).astype(dtype)
    return c, scores.astype(np.int32) @ v.astype(np.int32)


@pytest.mark.parametrize("types", [("float16", "float32"), ("int8", "int32")])
def test_lanes_exchange_what_a_gemm_has_computed(types: tuple[str, str]) -> None:
    module, staged = lowered(two_gemms(*types))
    assert not staged
    (exchange,) = [op for op in walk(module) if isinstance(op, InterleaveOp)]
    assert exchange.width == 64 * 48 // 128
    found, expected = run(module, *types)
    np.testing.assert_array_equal(found, expected)


def test_an_exchange_that_is_left_out_is_noticed() -> None:
    module, _ = lowered(two_gemms("float16", "float32"))
    for op in [op for op in walk(module) if isinstance(op, InterleaveOp)]:
        op.detach()
        op.erase()
    with np.errstate(invalid="ignore"):
        found, expected = run(module, "float16", "float32")
    assert not np.array_equal(found, expected)


def test_operands_that_other_waves_need_are_staged_with_their_own_type() -> None:
    module, staged = lowered(two_gemms("float16", "float32", T.GemmWarpPolicy.FullCol))
    assert [each.split()[0] for each in staged] == ["'weights'"]
    assert not [op for op in walk(module) if isinstance(op, InterleaveOp)]
    used = [
        op.attributes[simt_names.SHARED_BYTES].value.data  # pyright: ignore[reportAttributeAccessIssue]
        for op in walk(module)
        if simt_names.SHARED_BYTES in op.attributes
    ]
    tiles = (64 * 32 + 48 * 32 + 48 * 64) * 2
    assert max(used) <= tiles + 64 * (48 + 8) * 2, "halves are staged, not floats"
    found, expected = run(module, "float16", "float32")
    np.testing.assert_array_equal(found, expected)


def tables() -> tuple[Table, Table]:
    (instruction,) = GFX11.instructions_for("f16", "f16")
    core = matrix_core(instruction)
    plan = GemmPlan("wmma", (2, 1), instruction.shape, transposed=True, k_width=core.run)
    return accumulator((32, 48), plan, core), operand_a((32, 48), plan, core)


def test_only_the_pattern_of_the_instruction_is_interleaved() -> None:
    held, needed = tables()
    assert is_interleaved(held, needed, GFX11)
    assert not is_interleaved(held, needed, CHIPS["gfx942"])
    assert not is_interleaved(held, needed, 90)
    assert not is_interleaved(held, held, GFX11)
    other = Table(needed.owners, needed.registers ^ 1)
    assert not is_interleaved(held, other, GFX11)
    assert not is_interleaved(held, Table(needed.owners ^ 32, needed.registers), GFX11)


@pytest.mark.parametrize("fault", ["registers", "owners"])
def test_a_plan_with_a_wrong_exchange_is_refused(fault: str) -> None:
    module = two_gemms("float16", "float32").module.clone()
    engine = DiagnosticEngine()
    for each in amd_pipeline("gfx1100").passes():
        if isinstance(each, InferLayouts):
            break
        each.run(module, engine)
    seen: list[tuple[KernelOp, LayoutPlan]] = []

    class Recording(InferLayouts):
        def _solved(self, kernel: KernelOp, engine: DiagnosticEngine) -> LayoutPlan | None:
            plan = super()._solved(kernel, engine)
            assert plan is not None
            seen.append((kernel, plan))
            return plan

    Recording(wgmma=False).run(module, engine)
    ((kernel, plan),) = seen
    (copy,) = [op for op in walk(kernel) if isinstance(op, CopyOp)]
    assert check(kernel, plan) is None
    table = plan.fragments[copy.src]
    if fault == "registers":
        wrong = Table(table.owners, table.registers ^ 1)
    else:
        wrong = Table(table.owners ^ 16, table.registers)
    plan.fragments[copy.src] = wrong  # pyright: ignore[reportIndexIssue]
    problem = check(kernel, plan)
    assert problem is not None
