"""Elements of tensors at indices that are read from other tensors."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, whole
from tilewright import T


def indices(seed: int, *shape: int, past: int) -> np.ndarray:
    """Rows, some of which are not there: those read as zero."""
    return np.random.default_rng(seed).integers(-1, past + 1, shape).astype(np.int32)


def rows_of(x: np.ndarray, at: np.ndarray) -> np.ndarray:
    inside = (at >= 0) & (at < len(x))
    return np.where(inside[..., None], x[np.where(inside, at, 0)], 0).astype(x.dtype)


@pytest.mark.parametrize("rows", [7, 32])
def test_rows_by_an_index_that_is_guarded_itself_are_gathered_in_a_loop(rows):
    """The guard of the index is a branch, whose inputs were left in the loop over lanes."""

    @tw.jit
    def gather(X, At):
        n, b = T.dynamic("n, b")
        X: T.Tensor((n, 64), "float16")
        At: T.Tensor((b, 128), "int32")
        Out = T.empty((b, 32, 64), "float16")
        with T.Kernel(b, threads=128) as bx:
            staged = T.alloc_shared((32, 64), "float16")
            total = T.alloc_fragment((32, 64), "float16")
            T.clear(total)
            for k in T.serial(4):
                for i, j in T.Parallel(32, 64):
                    staged[i, j] = X[At[bx, k * 32 + i], j]
                for i, j in T.Parallel(32, 64):
                    total[i, j] += staged[i, j]
            T.copy(total, Out[bx, 0, 0])
        return Out

    x, at = whole(0, rows, 64), indices(1, 3, 128, past=rows)
    expected = rows_of(x, at).reshape(3, 4, 32, 64).sum(axis=1, dtype=np.float16)
    check(gather, x, at, expected=expected)


def test_every_column_has_a_row_of_its_own():
    """Columns were read together from the row of the first of them."""

    @tw.jit
    def gather(X, At):
        X: T.Tensor((16, 64), "float16")
        At: T.Tensor((4, 64), "int32")
        Out = T.empty((4, 32, 64), "float16")
        with T.Kernel(4, threads=128) as bx:
            staged = T.alloc_shared((32, 64), "float16")
            for i, j in T.Parallel(32, 64):
                staged[i, j] = X[At[bx, j], j]
            T.copy(staged, Out[bx, 0, 0])
        return Out

    x, at = whole(2, 16, 64), indices(3, 4, 64, past=16)
    own = rows_of(x, at)[:, np.arange(64), np.arange(64)]
    check(gather, x, at, expected=np.repeat(own[:, None], 32, axis=1))


def test_every_column_has_a_condition_of_its_own():
    @tw.jit
    def choose(X, At):
        X: T.Tensor((16, 64), "float16")
        At: T.Tensor((64,), "int32")
        Out = T.empty((16, 64), "float16")
        with T.Kernel(1, threads=64):
            staged = T.alloc_shared((16, 64), "float16")
            T.clear(staged)
            for i, j in T.Parallel(16, 64):
                if At[j] > 3:
                    staged[i, j] = X[i, j]
            T.copy(staged, Out)
        return Out

    x, at = whole(4, 16, 64), indices(5, 64, past=8)
    check(choose, x, at, expected=np.where(at > 3, x, 0).astype(np.float16))


def test_columns_by_an_index_that_grows_with_the_column():
    """``At[j] + j`` looks as if it grew by one."""

    @tw.jit
    def shifted(X, At):
        X: T.Tensor((8, 128), "float16")
        At: T.Tensor((64,), "int32")
        Out = T.empty((8, 64), "float16")
        with T.Kernel(1, threads=64):
            staged = T.alloc_shared((8, 64), "float16")
            for i, j in T.Parallel(8, 64):
                staged[i, j] = X[i, At[j] * 8 + j]
            T.copy(staged, Out)
        return Out

    x, at = whole(6, 8, 128), np.random.default_rng(7).integers(0, 8, 64).astype(np.int32)
    check(shifted, x, at, expected=x[:, at * 8 + np.arange(64)])
