"""A kernel that spills is compiled without passes that keep values in registers (TW7555)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.targets.hip.support import needs_clang
from tilewright import T
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.amd.duplicate_operands import DuplicateOperands
from tilewright.passes.gpu.merge_guards import MergeGuards
from tilewright.targets.hip import compile as compiling


def small() -> Any:
    @T.prim_func
    def kernel(A: T.Tensor((1000,), "float32"), B: T.Tensor((1000,), "float32")):
        with T.Kernel(4, threads=128) as bx:
            for i in T.Parallel(256):
                B[bx * 256 + i] = A[bx * 256 + i] * 2

    return kernel


@needs_clang
@pytest.mark.parametrize("helps", [MergeGuards.name, DuplicateOperands.name, None])
def test_the_first_form_without_spills_is_taken(
    helps: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels, lower = compiling._kernels, compiling.lower_module
    forms: dict[int, tuple[str, ...]] = {}

    def lowering(module: Any, pipeline: Any, engine: DiagnosticEngine) -> Any:
        lowered = lower(module, pipeline, engine)
        form = "".join(each for each in pipeline.leave_out)
        # Forms with the same text are not compiled again.
        sources = [replace(each, text=f"{each.text}// {form}\n") for each in lowered.sources]
        lowered = replace(lowered, sources=sources)
        forms[id(lowered)] = pipeline.leave_out
        return lowered

    def spilling(lowered: Any, *rest: Any) -> Any:
        """All forms spill but the one that helps."""
        spilled = 0 if helps is not None and helps in forms[id(lowered)] else 16
        return {
            name: replace(each, metadata=replace(each.metadata, vgpr_spills=spilled))
            for name, each in kernels(lowered, *rest).items()
        }

    monkeypatch.setattr(compiling, "lower_module", lowering)
    monkeypatch.setattr(compiling, "_kernels", spilling)
    program = compiling.compile_module(small().module, "gfx1100", engine=(e := DiagnosticEngine()))
    remarks = [each.message for each in e.diagnostics if each.code == compiling.FEWER_REGISTERS]
    if helps is None:
        assert (remarks, program.spill_bytes) == ([], 64)
    else:
        assert remarks == [f"{compiling._SMALLER[helps]}: 64 B per thread spill otherwise"]
        assert program.spill_bytes == 0
