"""Rows that threads of several warps reduce: one exchange through shared memory for all of them."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import by_threads, check, lowered, source_of, whole
from tilewright import T
from tilewright.passes.gpu import lower_thread_reductions
from tilewright.targets.numpy.simt.api import SimtFault

ROWS, COLUMNS, DEPTH = 64, 64, 32


def _reduction(kind: str) -> Any:
    reduce = getattr(T, f"reduce_{kind}")

    @tw.jit
    def rows(A, B):
        A: T.Tensor((ROWS, DEPTH), "float16")
        B: T.Tensor((COLUMNS, DEPTH), "float16")
        Out = T.empty((ROWS,), "float32")
        with T.Kernel(1, threads=256):
            a = T.alloc_shared((ROWS, DEPTH), "float16")
            b = T.alloc_shared((COLUMNS, DEPTH), "float16")
            scores = T.alloc_fragment((ROWS, COLUMNS), "float32")
            result = T.alloc_fragment((ROWS,), "float32")
            T.copy(A, a)
            T.copy(B, b)
            T.clear(scores)
            T.gemm(a, b, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullCol)
            reduce(scores, result, dim=1)
            T.copy(result, Out)
        return Out

    return rows


def _inputs() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = whole(1, ROWS, DEPTH), whole(2, COLUMNS, DEPTH)
    return a, b, a.astype(np.float32) @ b.astype(np.float32).T


@pytest.mark.parametrize("kind", ["max", "sum"])
def test_all_rows_take_one_barrier(kind: str) -> None:
    kernel, (a, b, scores) = _reduction(kind), _inputs()
    check(kernel, a, b, expected=getattr(scores, kind)(axis=1), cubin=False)
    module, _ = lowered(kernel, a, b)
    source = source_of(module)
    reduction = source[source.index("exchange[") : source.rindex("exchange[")]
    assert reduction.count("exchange[") == 2  # a store, and a load of each partner
    assert reduction.count("__syncthreads();") == 1


def test_lanes_with_values_of_their_own_are_not_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong count of lanes with equal values has other sums, or unwritten elements."""
    monkeypatch.setattr(lower_thread_reductions, "_equal_lanes", lambda _: 32)
    kernel, (a, b, scores) = _reduction("sum"), _inputs()
    module, _ = lowered(kernel, a, b)
    expected = scores.sum(axis=1)
    with contextlib.suppress(SimtFault):
        assert (by_threads(kernel, module, (a, b), expected) != expected).any()
