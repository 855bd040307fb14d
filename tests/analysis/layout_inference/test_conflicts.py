"""The errors of the solver for conflicting layouts, with a diagram of both."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.fuzz.tile.generator import generate
from tests.fuzz.tile.running import traced
from tilewright import T
from tilewright.analysis.layout_inference import agreement
from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.layout_inference.solver import Solver
from tilewright.ir.diagnostics import Diagnostic, DiagnosticEngine, Severity
from tilewright.passes.gpu.infer_layouts import InferLayouts
from tilewright.passes.gpu.pipeline import GpuPipeline


def reported(kernel: Any, *arguments: np.ndarray) -> Diagnostic:
    """The error of the solver alone: nothing is sent through shared memory for it."""
    engine = DiagnosticEngine()
    module = kernel.get_tir(*arguments).module.clone()
    for each in GpuPipeline().passes():
        if isinstance(each, InferLayouts):
            break
        each.run(module, engine)
    (found,) = kernels(module)
    assert Solver(found, engine, 90).solve() is None
    (error,) = (each for each in engine.diagnostics if each.severity is Severity.ERROR)
    return error


ROWS = {
    "forward_thread_fn": lambda i, j: i * 4 + j // 2,
    "forward_index_fn": lambda i, j: j % 2,
}


def test_a_loop_reads_what_other_threads_hold():
    @tw.jit
    def turned(A):
        A: T.Tensor((8, 8), "float32")
        B = T.empty((8, 8), "float32")
        with T.Kernel(1, threads=32):
            one = T.alloc_fragment((8, 8), "float32")
            other = T.alloc_fragment((8, 8), "float32")
            T.annotate_layout({one: T.Fragment((8, 8), **ROWS)})
            T.annotate_layout({other: T.Fragment((8, 8), **ROWS)})
            T.copy(A, one)
            for i, j in T.Parallel(8, 8):
                other[i, j] = one[j, i]
            T.copy(other, B)
        return B

    error = reported(turned, np.zeros((8, 8), np.float32))
    assert error.code == "TW2020"
    assert error.message == (
        "conflicting layouts for 'one': element (1, 0) is owned by thread 4, but read by thread 0 here"
    )
    origin, diagram, help = error.notes
    assert origin.message == "the layout of 'one' comes from here"
    assert origin.trail.primary != error.trail.primary
    assert diagram.message.splitlines()[1:] == [
        "'one' owned by              read by, here",
        "   0   1   2   3   4   5       0   1   2   3   4   5",
        "0  0   0   1   1   2   2    0  0   4   8  12  16  20",
        "1 [4]  4   5   5   6   6    1 [0]  4   8  12  16  20",
        "2  8   8   9   9  10  10    2  1   5   9  13  17  21",
        "3 12  12  13  13  14  14    3  1   5   9  13  17  21",
    ]
    assert help.message.startswith("help: T.copy 'one' to shared memory")


def test_two_gemms_require_different_layouts_of_a_fragment():
    @tw.jit
    def chained(A):
        A: T.Tensor((64, 64), "float16")
        B = T.empty((64, 64), "float16")
        with T.Kernel(1, threads=128):
            staged = T.alloc_shared((64, 64), "float16")
            accumulator = T.alloc_fragment((64, 64), "float16")
            other = T.alloc_fragment((64, 64), "float16")
            T.copy(A, staged)
            T.gemm(staged, staged, accumulator, clear_accum=True)
            T.gemm(staged, accumulator, other, clear_accum=True)
            T.copy(other, B)
        return B

    error = reported(chained, np.zeros((64, 64), np.float16))
    assert (
        "element (0, 1) is owned by threads 4, 68 here, by thread 0 in the other layout"
        in error.message
    )
    _, diagram, _ = error.notes
    first = diagram.message.splitlines()[3]
    assert first == "0  0+1  [4+1]  8+1  12+1  16+1  20+1    0  0  [0]  1   1   2   2"


def test_a_user_specified_layout_with_more_threads_than_the_block():
    @tw.jit
    def wide(A):
        A: T.Tensor((16, 8), "float32")
        B = T.empty((16, 8), "float32")
        with T.Kernel(1, threads=32):
            rows = T.alloc_fragment((16, 8), "float32")
            T.annotate_layout({rows: T.Fragment((16, 8), **ROWS)})
            T.copy(A, rows)
            T.copy(rows, B)
        return B

    error = reported(wide, np.zeros((16, 8), np.float32))
    assert error.code == "TW2022"
    assert "uses threads 0 to 63, but only 32 threads run" in error.message
    assert "threads=64" in error.notes[-1].message


def test_layouts_that_were_only_tried_cost_minutes_of_drawing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A layout that does not fit is a reason to try the next: no message is built for it."""
    tried: list[bool] = []
    conflict = agreement.Agreement._conflict

    def counted(self: Any, *arguments: Any) -> Any:
        tried.append(self.is_trial)
        return conflict(self, *arguments)

    diagrams: list[str] = []

    def drawn(*_: Any) -> str:
        diagrams.append("a picture")
        return diagrams[-1]

    monkeypatch.setattr(agreement.Agreement, "_conflict", counted)
    monkeypatch.setattr(agreement, "access_diagram", drawn)
    engine = DiagnosticEngine()
    GpuPipeline().run(traced(generate(9)).module.clone(), engine)
    assert not engine.error_count
    assert sum(tried) > 3
    assert len(diagrams) == len(tried) - sum(tried)
