"""Gathering loops and guarded copies of pipelined loops: in flight while the threads compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T

STEPS, ROWS, COLUMNS = 4, 32, 64


def _at(past: int) -> np.ndarray:
    """Rows, some of which are not there: those read as zero."""
    return np.random.default_rng(5).integers(-1, past + 1, STEPS * ROWS).astype(np.int32)


def _gathered(x: np.ndarray, at: np.ndarray, outside: float = 0.0) -> np.ndarray:
    inside = (at >= 0) & (at < len(x))
    return np.where(inside[:, None], x[np.where(inside, at, 0)], outside).astype(x.dtype)


def _kernel(stages: int, kind: str = "plain") -> Any:
    @tw.jit
    def gather(A, X, At):
        n, steps = T.dynamic("n, steps")
        A: T.Tensor((64, COLUMNS), "float16")
        X: T.Tensor((n, COLUMNS), "float16")
        At: T.Tensor((steps,), "int32")
        Out = T.empty((64, ROWS), "float32")
        with T.Kernel(1, threads=128):
            left = T.alloc_shared((64, COLUMNS), "float16")
            right = T.alloc_shared((ROWS, COLUMNS), "float16")
            total = T.alloc_fragment((64, ROWS), "float32")
            if kind == "safe value":
                T.annotate_safe_value({X: 1.0})
            T.copy(A, left)
            T.clear(total)
            trips = T.ceildiv(steps, ROWS) if kind == "run-time" else STEPS
            for k in T.Pipelined(trips, num_stages=stages):
                if kind == "guarded":
                    if At[k * ROWS] % 3 != 0:
                        for i, j in T.Parallel(ROWS, COLUMNS):
                            right[i, j] = X[At[k * ROWS + i], j]
                        T.gemm(left, right, total, transpose_B=True)
                elif kind == "shifted":
                    for i, j in T.Parallel(ROWS, COLUMNS):
                        right[i, j] = X[At[k * ROWS + (i + j) % ROWS], j]
                    T.gemm(left, right, total, transpose_B=True)
                else:
                    for i, j in T.Parallel(
                        ROWS, COLUMNS, prefer_async=False if kind == "refused" else None
                    ):
                        right[i, j] = X[At[k * ROWS + i], j]
                    T.gemm(left, right, total, transpose_B=True)
            T.copy(total, Out)
        return Out

    return gather


def _expected(kind: str, a: np.ndarray, x: np.ndarray, at: np.ndarray) -> np.ndarray:
    total = np.zeros((64, ROWS), np.float32)
    for k in range(STEPS):
        rows = at[k * ROWS : (k + 1) * ROWS]
        tile = _gathered(x, rows, 1.0 if kind == "safe value" else 0.0)
        if kind == "guarded" and rows[0] % 3 == 0:
            continue
        if kind == "shifted":
            columns = np.arange(COLUMNS)
            moved = (np.arange(ROWS)[:, None] + columns) % ROWS
            tile = tile[moved, columns]
        total += a.astype(np.float32) @ tile.astype(np.float32).T
    return total


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("kind", ["plain", "guarded", "run-time"])
def test_rows_are_in_flight_while_an_earlier_iteration_computes(kind, stages):
    a, x, at = whole(0, 64, COLUMNS), whole(1, 40, COLUMNS), _at(40)
    gather = _kernel(stages, kind)
    check(gather, a, x, at, expected=_expected(kind, a, x, at))
    text = source_of(lowered(gather, a, x, at)[0])
    assert "tw::cp_async<16>(tw::shared_address(right" in text
    assert "tw::cp_async_wait<" in text


@pytest.mark.parametrize("kind", ["shifted", "safe value", "refused"])
def test_other_loops_are_moved_by_threads(kind):
    """Lanes of different rows, a fill that is not zero, and the request of a user."""
    a, x, at = whole(2, 64, COLUMNS), whole(3, 40, COLUMNS), _at(40)
    gather = _kernel(2, kind)
    check(gather, a, x, at, expected=_expected(kind, a, x, at))
    assert "tw::cp_async<16>(tw::shared_address(right" not in source_of(
        lowered(gather, a, x, at)[0]
    )


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_guarded_copies_are_in_flight_while_an_earlier_iteration_computes(stages):
    """Whether a tile is needed is read from shared memory, so no producer warp can copy it."""

    @tw.jit
    def some(A, X, Needed):
        A: T.Tensor((64, COLUMNS), "float16")
        X: T.Tensor((STEPS * ROWS, COLUMNS), "float16")
        Needed: T.Tensor((STEPS,), "int32")
        Out = T.empty((64, ROWS), "float32")
        with T.Kernel(1, threads=128):
            left = T.alloc_shared((64, COLUMNS), "float16")
            right = T.alloc_shared((ROWS, COLUMNS), "float16")
            needed = T.alloc_shared((STEPS,), "int32")
            total = T.alloc_fragment((64, ROWS), "float32")
            T.copy(A, left)
            T.copy(Needed, needed)
            T.clear(total)
            for k in T.Pipelined(STEPS, num_stages=stages):
                if needed[k] != 0:
                    T.copy(X[k * ROWS, 0], right)
                    T.gemm(left, right, total, transpose_B=True)
            T.copy(total, Out)
        return Out

    a, x = whole(4, 64, COLUMNS), whole(5, STEPS * ROWS, COLUMNS)
    for needed in ([1, 1, 1, 1], [0, 1, 0, 1], [1, 0, 0, 0], [0, 0, 0, 0]):
        flags = np.array(needed, np.int32)
        tiles = x.reshape(STEPS, ROWS, COLUMNS).astype(np.float32) * flags[:, None, None]
        expected = (a.astype(np.float32) @ tiles.sum(axis=0).T).astype(np.float32)
        check(some, a, x, flags, expected=expected, cubin=False)
    assert "tw::cp_async<16>(tw::shared_address(right" in source_of(lowered(some, a, x, flags)[0])
