"""Layouts that nothing determines are chosen by cost: wide accesses before fills, few replicas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from xdsl.ir import Operation

import tilewright as tw
from tests.passes.gpu.seeds import check
from tilewright import T
from tilewright.analysis.layout_inference import free_layouts
from tilewright.analysis.layout_inference.agreement import Loop
from tilewright.analysis.layout_inference.cost import LoopWork, register_cost
from tilewright.analysis.layout_inference.scopes import kernels
from tilewright.analysis.layout_inference.solver import Solver
from tilewright.analysis.layout_inference.table import Table
from tilewright.dialects.memref import LoadOp
from tilewright.dialects.tile import Space, space_of
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.ir.traversal import walk
from tilewright.passes.gpu.infer_layouts import InferLayouts
from tilewright.passes.gpu.pipeline import GpuPipeline


def solver(kernel: Any, *arguments: np.ndarray) -> Solver:
    engine = DiagnosticEngine()
    module = kernel.get_tir(*arguments).module.clone()
    for each in GpuPipeline().passes():
        if isinstance(each, InferLayouts):
            break
        each.run(module, engine)
    (found,) = kernels(module)
    return Solver(found, engine, 90)


def layout_of(solved: Solver, name: str) -> Table:
    (found,) = (table for value, table in solved.fragments.items() if value.name_hint == name)
    return found


def weighted_sum(rows: int, columns: int, parts: int) -> Any:
    @tw.jit
    def main(X, W):
        X: T.Tensor((parts, rows, columns), "float16")
        W: T.Tensor((parts, rows), "float32")
        Y = T.empty((rows, columns), "float16")
        with T.Kernel(1, threads=128):
            x = T.alloc_fragment((rows, columns), "float16")
            total = T.alloc_fragment((rows, columns), "float32")
            weight = T.alloc_fragment((rows,), "float32")
            T.clear(total)
            for k in T.serial(parts):
                T.copy(X[k, :, :], x)
                T.copy(W[k, :], weight)
                for i, j in T.Parallel(rows, columns):
                    total[i, j] += x[i, j] * T.exp2(weight[i])
            T.copy(total, Y)
        return Y

    return main


def arguments(rows: int, columns: int, parts: int) -> tuple[np.ndarray, ...]:
    return np.zeros((parts, rows, columns), np.float16), np.zeros((parts, rows), np.float32)


@pytest.mark.parametrize(("rows", "columns"), [(64, 128), (32, 64), (128, 32)])
def test_a_copy_decides_before_a_fill(rows: int, columns: int) -> None:
    solved = solver(weighted_sum(rows, columns, 4), *arguments(rows, columns, 4))
    assert solved.solve() is not None
    for name in ("x", "total"):
        runs = layout_of(solved, name).inverse[1].reshape(-1, 8)
        assert (np.diff(runs, axis=1) == 1).all(), f"{name} is not held in runs of 8"


def test_the_standard_choice_is_the_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without costs the layout is the fill's: the test above can fail."""
    monkeypatch.setattr(free_layouts, "_CHEAPER", 0.0)
    solved = solver(weighted_sum(64, 128, 4), *arguments(64, 128, 4))
    assert solved.solve() is not None
    assert (np.diff(layout_of(solved, "x").inverse[1], axis=1) == 0).any()


def test_values_are_right() -> None:
    random = np.random.default_rng(3)
    x = random.standard_normal((4, 32, 64)).astype(np.float16)
    w = random.standard_normal((4, 32)).astype(np.float32)
    kernel = weighted_sum(32, 64, 4)
    expected = (x.astype(np.float64) * np.exp2(w.astype(np.float64))[..., None]).sum(axis=0)
    assert np.abs(kernel(x, w) - expected).max() < 2e-2


def copies(solved: Solver) -> dict[str, Loop]:
    """The loops that read a global tensor into a fragment, by the tensor."""
    solved._collect()
    found: dict[str, Loop] = {}
    for loop in solved.loops:
        for op in walk(loop.op):
            if isinstance(op, LoadOp) and space_of(op.memref.type) is Space.GLOBAL:
                found[_tensor(op)] = loop
    return found


def _tensor(op: LoadOp) -> str:
    value = op.memref
    while isinstance(owner := value.owner, Operation) and owner.operands:
        value = owner.operands[0]
    assert value.name_hint is not None
    return value.name_hint


def test_costs_rank_layouts() -> None:
    loop = copies(solver(weighted_sum(64, 128, 4), *arguments(64, 128, 4)))["X"]
    wide, narrow = Table.free((64, 128), 128, 8), Table.free((64, 128), 128, 1)
    by_row = Table.rows((64, 128), 128, 8, max_threads=2)
    everywhere = Table.everywhere((64, 128), 128)
    costs = [LoopWork.of(loop).cost(each) for each in (wide, narrow, by_row, everywhere)]
    assert costs[0] < costs[1], "wide accesses cost less"
    assert costs[0] < costs[2], "accesses of a warp to few rows cost less"
    assert costs[0] * 4 < costs[3], "replicated iterations cost each thread"
    one_time = copies(solver(weighted_sum(64, 128, 1), *arguments(64, 128, 1)))["X"]
    assert LoopWork.of(one_time).cost(wide) * 4 == costs[0], "serial loops around it count"


def test_many_registers_cost_more() -> None:
    solved = solver(weighted_sum(64, 128, 4), *arguments(64, 128, 4))
    assert solved.solve() is not None
    (total,) = (value for value in solved.fragments if value.name_hint == "total")
    few, many = Table.free((64, 128), 128, 8), Table.everywhere((64, 128), 128)
    assert register_cost([(total, few)]) * 100 < register_cost([(total, many)])


def mixed(rows: int, columns: int) -> Any:
    @tw.jit
    def main(A, B):
        A: T.Tensor((rows, rows), "float32")
        B: T.Tensor((rows, columns), "bfloat16")
        Y = T.empty((rows, columns), "float32")
        with T.Kernel(1, threads=128):
            staged = T.alloc_shared((rows, columns), "bfloat16")
            a = T.alloc_fragment((rows, rows), "float32")
            b = T.alloc_fragment((rows, columns), "float32")
            y = T.alloc_fragment((rows, columns), "float32")
            T.copy(A, a)
            T.copy(B, staged)
            T.copy(staged, b)
            for i, j in T.Parallel(rows, columns):
                y[i, j] = 0
                for k in T.serial(rows):
                    y[i, j] += a[k, i] * b[k, j]
            T.copy(y, Y)
        return Y

    return main


def test_a_loop_runs_where_the_columns_are_that_it_reads() -> None:
    """All rows of a column in one thread: nothing is staged through shared memory again."""
    import ml_dtypes

    random = np.random.default_rng(5)
    a = random.integers(-2, 3, (4, 4)).astype(np.float32)
    b = random.integers(-2, 3, (4, 512)).astype(ml_dtypes.bfloat16)
    engine = check(mixed(4, 512), a, b, expected=a.T @ b.astype(np.float32), cubin=False)
    assert not any("staged" in each.message for each in engine.diagnostics)
    solved = solver(mixed(4, 512), a, b)
    assert solved.solve() is not None
    owners = layout_of(solved, "b").owners
    assert (owners == owners[:1]).all(), "a column has one owner"
    assert layout_of(solved, "b").num_registers == 16
