"""Loops over lanes: branches around accesses, order of accesses, vector additions, cut chunks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T
from tilewright.dialects.memref import StoreOp
from tilewright.dialects.nv import RedAddOp
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.tile import Space, space_of
from tilewright.ir.traversal import walk


def wide_stores(module: Any, lanes: int) -> int:
    """Moves of so many lanes to global memory."""
    return sum(
        isinstance(op, MoveOp) and op.width == lanes and space_of(op.dst.type) is Space.GLOBAL
        for op in walk(module)
    )


# -- branches --------------------------------------------------------------------------------------


@tw.jit
def rows_of_a_sequence(X, Lengths):
    X: T.Tensor((64, 32), "float16")
    Lengths: T.Tensor((1,), "int32")
    Y = T.empty((64, 32), "float16")
    with T.Kernel(1, threads=64):
        staged = T.alloc_shared((64, 32), "float16")
        T.copy(X, staged)
        for i, j in T.Parallel(64, 32):
            Y[i, j] = 0
        T.sync_threads()
        for i, j in T.Parallel(64, 32):
            if i < Lengths[0]:
                Y[i, j] = staged[i, j] + staged[i, j]
    return Y


@pytest.mark.parametrize("length", [0, 37, 64])
def test_a_branch_that_lanes_share_is_no_obstacle(length: int) -> None:
    x, lengths = whole(length, 64, 32), np.array([length], np.int32)
    expected = np.where(np.arange(64)[:, None] < length, x + x, np.float16(0))
    check(rows_of_a_sequence, x, lengths, expected=expected, cubin=length == 37)
    module, _ = lowered(rows_of_a_sequence, x, lengths)
    assert wide_stores(module, 8) == 2


@tw.jit
def either(X, Flags):
    X: T.Tensor((16, 64), "float32")
    Flags: T.Tensor((16,), "int32")
    Y = T.empty((2, 16, 64), "float32")
    with T.Kernel(1, threads=128):
        for i, j in T.Parallel(16, 64):
            if Flags[i] > 0:
                Y[0, i, j] = X[i, j]
                Y[1, i, j] = -1.0
            else:
                Y[0, i, j] = X[i, j] * 2.0
                Y[1, i, j] = X[i, j]
    return Y


def test_both_sides_of_a_branch_are_written() -> None:
    x, flags = whole(1, 16, 64, dtype="float32"), np.arange(16, dtype=np.int32) % 3
    taken = (flags > 0)[:, None]
    expected = np.stack([np.where(taken, x, x * 2), np.where(taken, np.float32(-1), x)])
    check(either, x, flags, expected=expected)


@tw.jit
def one_side_alone(X, Flags):
    X: T.Tensor((16, 64), "float32")
    Flags: T.Tensor((16,), "int32")
    Y = T.empty((16, 64), "float32")
    with T.Kernel(1, threads=128):
        for i, j in T.Parallel(16, 64):
            if Flags[i] > 0:
                Y[i, j] = 5.0
            else:
                Y[i, j] = X[i, j]
    return Y


def test_the_other_side_of_a_single_store_is_not_lost() -> None:
    x, flags = whole(2, 16, 64, dtype="float32"), np.arange(16, dtype=np.int32) % 2
    check(one_side_alone, x, flags, expected=np.where((flags > 0)[:, None], np.float32(5), x))


@tw.jit
def rows_by_table(X, Table, Count):
    X: T.Tensor((32, 64), "float16")
    Table: T.Tensor((16,), "int32")
    Count: T.Tensor((1,), "int32")
    Y = T.empty((64, 64), "float16")
    with T.Kernel(1, threads=128):
        for i, j in T.Parallel(64, 64):
            Y[i, j] = 0
        T.sync_threads()
        for i, j in T.Parallel(64, 64):
            if i < Count[0]:
                Y[i, j] = X[Table[i], j]
    return Y


def test_an_index_that_is_valid_inside_of_the_branch_is_read_there() -> None:
    """The table has 16 rows: a thread that read it before the branch would be out of bounds."""
    x, table = whole(3, 32, 64), np.arange(16, dtype=np.int32)[::-1] * 2
    expected = np.zeros((64, 64), np.float16)
    expected[:11] = x[table[:11]]
    check(rows_by_table, x, table, np.array([11], np.int32), expected=expected)


# -- order -----------------------------------------------------------------------------------------


@tw.jit
def read_again(A, B):
    A: T.Tensor((1024,), "float32")
    B: T.Tensor((1024,), "float32")
    with T.Kernel(1, threads=128):
        for i in T.Parallel(1024):
            A[i] = A[i] + 1.0
            B[i] = A[i] * 2.0


@tw.jit
def written_twice(A, B):
    A: T.Tensor((1024,), "float32")
    B: T.Tensor((1024,), "float32")
    with T.Kernel(1, threads=128):
        for i in T.Parallel(1024):
            B[i] = A[i]
            if i % 2 == 0:
                B[i] = -1.0


@tw.jit
def written_twice_wide(A, B):
    A: T.Tensor((1024,), "float32")
    B: T.Tensor((1024,), "float32")
    with T.Kernel(1, threads=128):
        for i in T.Parallel(1024):
            B[i] = -1.0
            B[i] = A[i]


@pytest.mark.parametrize(
    ("kernel", "change"),
    [
        (read_again, lambda a: (a + 1) * 2),
        (written_twice, lambda a: np.where(np.arange(1024) % 2 == 0, np.float32(-1), a)),
        (written_twice_wide, lambda a: a),
    ],
)
def test_accesses_stay_in_order(kernel: Any, change: Any) -> None:
    a = whole(4, 1024, dtype="float32")
    check(kernel, a, np.zeros(1024, np.float32), expected=change(a), cubin=False)


def test_without_the_check_of_order_values_are_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.passes.gpu import vectorize_loops

    monkeypatch.setattr(vectorize_loops, "disordered", lambda loop: set[Any]())
    a = whole(5, 1024, dtype="float32")
    with pytest.raises(AssertionError):
        check(read_again, a, np.zeros(1024, np.float32), expected=(a + 1) * 2, cubin=False)


# -- additions -------------------------------------------------------------------------------------


def split_sum(dtype: str, columns: int, order: str | None = None) -> Any:
    @tw.jit
    def main(X, Y):
        X: T.Tensor((4, 32, columns), dtype)
        Y: T.Tensor((32, columns), dtype)
        with T.Kernel(4, threads=64) as bx:
            for i, j in T.Parallel(32, columns):
                T.atomic_add(Y[i, j], T.cast(X[bx, i, j], dtype), memory_order=order)

    return main


@pytest.mark.parametrize(("dtype", "lanes"), [("float32", 4), ("float16", 8), ("bfloat16", 8)])
def test_additions_of_contiguous_elements_are_vectors(dtype: str, lanes: int) -> None:
    import ml_dtypes

    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    x = np.random.default_rng(6).integers(-3, 4, (4, 32, 64)).astype(kind)
    y = np.ones((32, 64), kind)
    expected = (y.astype(np.float32) + x.astype(np.float32).sum(axis=0)).astype(kind)
    kernel = split_sum(dtype, 64)
    check(kernel, x, y, expected=expected)
    module, _ = lowered(kernel, x, y)
    assert {op.width for op in walk(module) if isinstance(op, RedAddOp)} == {lanes}
    assert "red_add_" in source_of(module)


@pytest.mark.parametrize(("order", "lanes"), [("relaxed", {4}), ("release", set[int]())])
def test_relaxed_additions_are_vectors(order: str, lanes: set[int]) -> None:
    """Relaxed is what an update without an order is; they were made one element at a time."""
    x, y = whole(6, 4, 32, 64, dtype="float32"), np.zeros((32, 64), np.float32)
    kernel = split_sum("float32", 64, order)
    check(kernel, x, y, expected=x.sum(axis=0), cubin=False)
    module, _ = lowered(kernel, x, y)
    assert {op.width for op in walk(module) if isinstance(op, RedAddOp)} == lanes


def test_additions_to_odd_rows_are_not() -> None:
    x, y = whole(7, 4, 32, 63, dtype="float32"), np.zeros((32, 63), np.float32)
    kernel = split_sum("float32", 63)
    check(kernel, x, y, expected=x.sum(axis=0), cubin=False)
    module, _ = lowered(kernel, x, y)
    assert not any(isinstance(op, RedAddOp) for op in walk(module))


@tw.jit
def previous_values(X, Y):
    X: T.Tensor((256,), "float32")
    Y: T.Tensor((256,), "float32")
    Z = T.empty((256,), "float32")
    with T.Kernel(1, threads=64):
        for i in T.Parallel(256):
            Z[i] = T.atomic_add(Y[i], X[i], return_prev=True)
    return Z


def test_additions_that_return_what_was_there_are_not() -> None:
    x, y = whole(8, 256, dtype="float32"), whole(9, 256, dtype="float32")
    check(previous_values, x, y, expected=y, cubin=False)


# -- cut chunks ------------------------------------------------------------------------------------


@tw.jit
def scaled(X):
    n = T.dynamic("n")
    X: T.Tensor((n,), "float16")
    Y = T.empty((n,), "float16")
    with T.Kernel(T.ceildiv(n, 1024), threads=128) as bx:
        for i in T.Parallel(1024):
            Y[bx * 1024 + i] = X[bx * 1024 + i] * 2
    return Y


@tw.jit
def scaled_rows(X):
    m, n = T.dynamic("m, n")
    X: T.Tensor((m, n), "float32")
    Y = T.empty((m, n), "float32")
    with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 8), threads=64) as (bx, by):
        for i, j in T.Parallel(8, 64):
            Y[by * 8 + i, bx * 64 + j] = X[by * 8 + i, bx * 64 + j] * 2
    return Y


@pytest.mark.parametrize("size", [1, 7, 8, 1021, 1024, 2056])
def test_a_vector_path_and_a_scalar_tail(size: int) -> None:
    x = whole(size, size)
    check(scaled, x, expected=x * np.float16(2), cubin=size == 7)


@pytest.mark.parametrize("shape", [(1, 1), (9, 64), (8, 63), (13, 68), (16, 130)])
def test_rows_that_may_be_misaligned(shape: tuple[int, int]) -> None:
    x = whole(11, *shape, dtype="float32")
    check(scaled_rows, x, expected=x * np.float32(2), cubin=shape == (8, 63))


def test_both_forms_are_generated() -> None:
    for kernel, x, lanes in ((scaled, whole(1, 16), 8), (scaled_rows, whole(1, 4, 4), 4)):
        x = x.astype(np.float16 if kernel is scaled else np.float32)
        module, engine = lowered(kernel, x)
        assert wide_stores(module, lanes) > 0
        assert any(
            isinstance(op, StoreOp) and space_of(op.memref.type) is Space.GLOBAL
            for op in walk(module)
        )
        assert any("under a run-time test" in each.message for each in engine.diagnostics)


@tw.jit
def rows_of_batches(X, Rows):
    n = T.dynamic("n")
    X: T.Tensor((2, n, 3, 64), "float16")
    Rows: T.Tensor((16,), "int32")
    Y = T.empty((2, 3, 16, 64), "float16")
    with T.Kernel(2, 3, threads=128) as (bx, by):
        for i, j in T.Parallel(16, 64):
            Y[bx, by, i, j] = X[bx, Rows[i], by, j]
    return Y


@pytest.mark.parametrize("size", [5, 8])
def test_a_dynamic_extent_before_even_rows_is_no_obstacle(size: int) -> None:
    """The stride of the batches is unknown, but a multiple of 3 * 64 elements."""
    x = whole(12, 2, size, 3, 64)
    rows = np.random.default_rng(13).integers(0, size, 16).astype(np.int32)
    engine = check(rows_of_batches, x, rows, expected=x[:, rows].transpose(0, 2, 1, 3), cubin=False)
    assert not any("vectorised" in each.message for each in engine.diagnostics)
    module, _ = lowered(rows_of_batches, x, rows)
    assert wide_stores(module, 8) == 1
