"""A product that is moved to the next turn: any number of turns, and nothing looked at too early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T
from tilewright.dialects.nv import WgmmaWaitOp
from tilewright.dialects.scf import ForOp
from tilewright.ir.diagnostics import DiagnosticEngine
from tilewright.passes.gpu.pipeline import GpuPipeline
from tilewright.targets.numpy.api import Buffer
from tilewright.targets.numpy.simt import compile_simt
from tilewright.targets.numpy.simt.api import SimtFault

BLOCKS, TILE = 5, 64


@tw.jit
def chained(A, K, V):
    """Block `n` has `n` turns; values are whole numbers, so sums are exact in any order."""
    A: T.Tensor((TILE, TILE), "float16")
    K: T.Tensor((BLOCKS, TILE, TILE), "float16")
    V: T.Tensor((BLOCKS, TILE, TILE), "float16")
    Out = T.empty((BLOCKS, TILE, TILE), "float32")
    with T.Kernel(BLOCKS, threads=128) as block:
        A_shared = T.alloc_shared((TILE, TILE), "float16")
        K_shared = T.alloc_shared((TILE, TILE), "float16")
        V_shared = T.alloc_shared((TILE, TILE), "float16")
        scores = T.alloc_fragment((TILE, TILE), "float32")
        weights = T.alloc_fragment((TILE, TILE), "float16")
        out = T.alloc_fragment((TILE, TILE), "float32")
        T.copy(A, A_shared)
        T.clear(out)
        for k in T.Pipelined(block, num_stages=2):
            T.copy(K[k, :, :], K_shared)
            T.clear(scores)
            T.gemm(A_shared, K_shared, scores)
            for i, j in T.Parallel(TILE, TILE):
                weights[i, j] = T.cast(T.max(scores[i, j], 0), "float16")
            T.copy(V[k, :, :], V_shared)
            T.gemm(weights, V_shared, out)
        T.copy(out, Out[block, :, :])
    return Out


def arguments() -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = [(TILE, TILE), (BLOCKS, TILE, TILE), (BLOCKS, TILE, TILE)]
    return [rng.integers(-2, 3, shape).astype(np.float16) for shape in shapes]


def expected(a: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    a, k, v = (each.astype(np.float64) for each in (a, k, v))
    turns = [np.maximum(a @ k[n], 0) @ v[n] for n in range(BLOCKS)]
    return np.stack([sum(turns[:n], np.zeros((TILE, TILE))) for n in range(BLOCKS)])


def lowered() -> Any:
    engine = DiagnosticEngine()
    module = chained.get_tir(*arguments()).module.clone()
    GpuPipeline().run(module, engine)
    engine.raise_if_errors()
    return module


def run(module: Any) -> np.ndarray:
    out = Buffer("Out", np.full((BLOCKS, TILE, TILE), np.nan, np.float32), initialised=False)
    given = [Buffer(name, each) for name, each in zip("AKV", arguments(), strict=True)]
    compile_simt(module).launch([*given, out])
    return out.array


def waits_in_loops(module: Any) -> list[WgmmaWaitOp]:
    return [
        op for op in module.walk() if isinstance(op, WgmmaWaitOp) and isinstance(op.parent_op(), ForOp)
    ]  # fmt: skip


def test_any_number_of_turns() -> None:
    module = lowered()
    assert [op.count for op in waits_in_loops(module)] == [1, 0]
    np.testing.assert_array_equal(run(module), expected(*arguments()))


def test_a_wait_that_is_missing_is_noticed() -> None:
    for number in range(2):
        module = lowered()
        wait = waits_in_loops(module)[number]
        wait.detach()
        wait.erase()
        with pytest.raises(SimtFault, match=r"scores|weights|out"):
            run(module)
