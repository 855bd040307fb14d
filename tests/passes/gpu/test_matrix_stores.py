"""Fragments of tensor cores go to shared memory by ``stmatrix``, the same values as by elements."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, product, whole
from tilewright import T
from tilewright.dialects.nv import StMatrixOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.lower import matrix_stores
from tilewright.passes.gpu.pipeline import GpuPipeline


def gemm(m: int, n: int, threads: int, staged: tuple[int, int], column: int = 0) -> Any:
    """A GEMM whose result goes through `staged` shared memory, from `column` on."""

    @tw.jit
    def main(A, B):
        A: T.Tensor((m, 32), "float16")
        B: T.Tensor((32, n), "float16")
        C = T.empty((m, n), "float16")
        with T.Kernel(1, threads=threads):
            a = T.alloc_shared((m, 32), "float16")
            b = T.alloc_shared((32, n), "float16")
            c = T.alloc_fragment((m, n), "float32")
            out = T.alloc_shared(staged, "float16")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            for i, j in T.Parallel(m, n):
                out[i, j + column] = c[i, j]
            for i, j in T.Parallel(m, n):
                C[i, j] = out[i, j + column]
        return C

    return main


def stores(module: Any) -> list[int]:
    """Matrices of each instruction."""
    return [op.count.value.data for op in walk(module) if isinstance(op, StMatrixOp)]


CASES: dict[str, tuple[int, int, int, tuple[int, int], int, int]] = {
    "wgmma": (64, 64, 128, (64, 64), 0, 4),
    "two warp groups": (128, 64, 256, (128, 64), 0, 4),
    "few columns": (64, 8, 128, (64, 8), 0, 2),
    "mma": (32, 64, 64, (32, 64), 0, 4),
    "part of a row": (64, 32, 128, (64, 96), 40, 4),
    "padded rows": (64, 64, 128, (64, 72), 0, 4),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name: str) -> None:
    m, n, threads, staged, column, count = CASES[name]
    kernel = gemm(m, n, threads, staged, column)
    a, b = whole(1, m, 32), whole(2, 32, n)
    check(kernel, a, b, expected=product(a, b).astype(np.float16), cubin=name in ("wgmma", "mma"))
    module, _ = lowered(kernel, a, b)
    assert stores(module) == [count]


@pytest.mark.parametrize("column", [1, 4])
def test_rows_that_are_not_aligned_are_written_by_elements(column: int) -> None:
    kernel = gemm(64, 32, 128, (64, 64), column)
    a, b = whole(3, 64, 32), whole(4, 32, 32)
    check(kernel, a, b, expected=product(a, b).astype(np.float16), cubin=False)
    module, _ = lowered(kernel, a, b)
    assert stores(module) == []


def test_gpus_without_the_instruction() -> None:
    kernel = gemm(32, 64, 64, (32, 64))
    module = kernel.get_tir(whole(1, 32, 32), whole(2, 32, 64)).module.clone()
    engine = DiagnosticEngine()
    GpuPipeline(target="cuda:sm_80").run(module, engine)
    engine.raise_if_errors()
    assert stores(module) == []


def test_a_wrong_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    found = matrix_stores._rows
    monkeypatch.setattr(
        matrix_stores, "_rows", lambda table: replace(rows := found(table), row=rows.row ^ 1)
    )
    a, b = whole(5, 64, 32), whole(6, 32, 64)
    with pytest.raises(AssertionError):
        check(
            gemm(64, 64, 128, (64, 64)),
            a,
            b,
            expected=product(a, b).astype(np.float16),
            cubin=False,
        )
