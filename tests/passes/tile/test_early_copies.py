"""Copies before pipelined loops that the producer warp issues."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import by_threads, by_tiles, lowered, source_of, whole
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.passes.tile import specialize_warps
from tilewright.targets.numpy.simt.api import SimtFault

ROWS, COLUMNS, STEPS = 64, 32, 3


def _kernel(kind: str) -> Any:
    is_written, used_before, is_guarded = (
        kind == each for each in ("written", "used before", "guarded")
    )

    @tw.jit
    def scores(Q, K):
        Q: T.Tensor((ROWS, COLUMNS), "float16")
        K: T.Tensor((STEPS * ROWS, COLUMNS), "float16")
        Out = T.empty((ROWS, ROWS), "float32")
        with T.Kernel(1, threads=128) as block:
            staged = T.alloc_shared((ROWS, COLUMNS), "float16")
            queries = T.alloc_shared((ROWS, COLUMNS), "float16")
            keys = T.alloc_shared((ROWS, COLUMNS), "float16")
            zeros = T.alloc_fragment((ROWS, COLUMNS), "float16")
            total = T.alloc_fragment((ROWS, ROWS), "float32")
            T.clear(total)
            T.clear(zeros)
            T.copy(zeros, staged)  # lives before the loop only: its bytes are free afterwards
            T.copy(staged, zeros)
            if used_before:
                T.copy(zeros, queries)
                T.copy(queries, zeros)
            T.copy(Q[block * ROWS, 0], queries)
            for k in T.Pipelined(STEPS, num_stages=2):
                if is_guarded:
                    if k // 2 != 1:
                        T.copy(K[k * ROWS, 0], keys)
                        T.gemm(queries, keys, total, transpose_B=True)
                else:
                    T.copy(K[k * ROWS, 0], keys)
                    T.gemm(queries, keys, total, transpose_B=True)
            T.copy(total, Out[block * ROWS, 0])
            if is_written:
                for i, j in T.Parallel(ROWS, COLUMNS):
                    Q[block * ROWS + i, j] = zeros[i, j]
        return Out

    return scores


def _inputs(steps: int = STEPS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, k = whole(1, ROWS, COLUMNS), whole(2, STEPS * ROWS, COLUMNS)
    keys = k.astype(np.float32).reshape(STEPS, ROWS, COLUMNS)
    return q, k, sum(q.astype(np.float32) @ each.T for each in keys[:steps])


@pytest.mark.parametrize("kind", ["plain", "guarded", "written", "used before"])
def test_values_and_which_warps_copy(kind: str) -> None:
    kernel, (q, k, expected) = _kernel(kind), _inputs(2 if kind == "guarded" else STEPS)
    module, _ = lowered(kernel, q, k)
    assert ("tma_load(queries" in source_of(module)) == (kind in ("plain", "guarded"))
    np.testing.assert_array_equal(by_tiles(kernel, (q, k)), expected)
    np.testing.assert_array_equal(by_threads(kernel, module, (q, k), expected), expected)


def test_a_missing_wait_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_wait(barriers: Any) -> None:
        for each in barriers:
            each.op.detach()

    monkeypatch.setattr(specialize_warps, "wait_for", without_wait)
    kernel, (q, k, expected) = _kernel("plain"), _inputs()
    with pytest.raises((CompileError, SimtFault)):
        by_threads(kernel, lowered(kernel, q, k)[0], (q, k), expected)
