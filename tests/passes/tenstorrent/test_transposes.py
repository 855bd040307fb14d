"""Buffers that a loop accesses across its tiles, and vectors that are used as rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import T

EXECUTORS = ("ir", "source")


def check(kernel: Any, expected: Any, *arrays: Any, executors: Sequence[str] = ("ir",)) -> None:
    for executor in executors:
        with tw.tenstorrent_running(executor=executor):
            found = kernel(*arrays)
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=executor)


def integers(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).integers(-9, 10, shape).astype(np.float32)


@tw.jit(target="tenstorrent:sim")
def transposed(A, rows=32, columns=64):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((N, M), "float32")
    with T.Kernel(T.ceildiv(M, rows), T.ceildiv(N, columns)) as (bx, by):
        a = T.alloc_shared((rows, columns), "float32")
        t = T.alloc_fragment((columns, rows), "float32")
        T.copy(A[bx * rows, by * columns], a)
        for i, j in T.Parallel(columns, rows):
            t[i, j] = a[j, i] * 2 + 1
        T.copy(t, C[by * columns, bx * rows])
    return C


@pytest.mark.parametrize("shape", [(32, 64), (33, 70), (1, 5), (100, 31)])
def test_a_transposing_loop(shape: tuple[int, int]) -> None:
    a = integers(*shape)
    check(transposed, a.T * 2 + 1, a)


@pytest.mark.parametrize("block", [(20, 20), (64, 32), (32, 32)])
def test_blocks_of_any_shape(block: tuple[int, int]) -> None:
    a = integers(60, 64)
    rows, columns = block
    found = transposed(a, rows=rows, columns=columns)
    np.testing.assert_array_equal(found, a.T * 2 + 1)


@tw.jit(target="tenstorrent:sim")
def symmetric(A, block=64):
    M = T.const("M")
    A: T.Tensor((M, M), "float32")
    C = T.empty((M, M), "float32")
    with T.Kernel(1):
        a = T.alloc_shared((block, block), "float32")
        T.copy(A, a)
        c = T.alloc_fragment((block, block), "float32")
        for i, j in T.Parallel(block, block):
            c[i, j] = T.if_then_else(i < j, a[i, j] + a[j, i], a[j, i])
        T.copy(c, C)
    return C


def test_both_ways_at_once() -> None:
    a = integers(64, 64)
    expected = np.where(np.arange(64)[:, None] < np.arange(64), a + a.T, a.T)
    check(symmetric, expected, a, executors=EXECUTORS)


@tw.jit(target="tenstorrent:sim")
def two_outputs(A, rows=32, columns=64):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((M, N), "float32")
    D = T.empty((N, M), "float32")
    with T.Kernel(T.ceildiv(M, rows)) as by:
        c = T.alloc_fragment((rows, columns), "float32")
        d = T.alloc_fragment((columns, rows), "float32")
        T.copy(A[by * rows, 0], c)
        for i, j in T.Parallel(rows, columns):
            c[i, j] = c[i, j] + 1
            d[j, i] = c[i, j] * 3
        T.copy(c, C[by * rows, 0])
        T.copy(d, D[0, by * rows])
    return C, D


def test_a_transposed_store() -> None:
    a = integers(70, 40)
    c, d = two_outputs(a)
    np.testing.assert_array_equal(c, a + 1)
    np.testing.assert_array_equal(d, (a.T + 1) * 3)


@tw.jit(target="tenstorrent:sim")
def from_global(A, block=32):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((N, M), "float32")
    with T.Kernel(T.ceildiv(M, block), T.ceildiv(N, block)) as (bx, by):
        for i, j in T.Parallel(block, block):
            C[by * block + i, bx * block + j] = A[bx * block + j, by * block + i]
    return C


def test_tensors_are_transposed_in_place() -> None:
    a = integers(33, 70)
    check(from_global, a.T, a)


@tw.jit(target="tenstorrent:sim")
def outer(S, block=32):
    M = T.const("M")
    S: T.Tensor((M,), "float32")
    C = T.empty((M, M), "float32")
    with T.Kernel(1):
        s = T.alloc_shared((block,), "float32")
        c = T.alloc_fragment((block, block), "float32")
        T.copy(S, s)
        for i, j in T.Parallel(block, block):
            c[i, j] = s[i] - 2 * s[j]
        T.copy(c, C)
    return C


@pytest.mark.parametrize("extent", [32, 64, 50])
def test_a_vector_along_both_axes(extent: int) -> None:
    s = integers(extent)
    np.testing.assert_array_equal(outer(s, block=extent), s[:, None] - 2 * s[None, :])


@tw.jit(target="tenstorrent:sim")
def reduced_both_ways(A, block=64):
    M = T.const("M")
    A: T.Tensor((M, M), "float32")
    C = T.empty((M, M), "float32")
    R = T.empty((M,), "float32")
    with T.Kernel(1):
        a = T.alloc_fragment((block, block), "float32")
        r = T.alloc_fragment((block,), "float32")
        c = T.alloc_fragment((block,), "float32")
        both = T.alloc_fragment((block,), "float32")
        T.copy(A, a)
        T.reduce_sum(a, r, dim=1)
        T.reduce_max(a, c, dim=0)
        for i in T.Parallel(block):
            both[i] = r[i] + c[i]
        for i, j in T.Parallel(block, block):
            a[i, j] = a[i, j] + r[j] - c[i] + both[j]
        T.copy(a, C)
        T.copy(both, R)
    return C, R


def test_results_of_reductions_along_the_other_axis() -> None:
    a = integers(64, 64)
    r, c = a.sum(axis=1), a.max(axis=0)
    for executor in EXECUTORS:
        with tw.tenstorrent_running(executor=executor):
            found, both = reduced_both_ways(a)
        np.testing.assert_array_equal(both, r + c)
        np.testing.assert_array_equal(found, a + r[None, :] - c[:, None] + (r + c)[None, :])


@tw.jit(target="tenstorrent:sim")
def one_element(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((1,), "float32")
    with T.Kernel(1):
        a = T.alloc_fragment((M, N), "float32")
        r = T.alloc_fragment((M, 1), "float32")
        c = T.alloc_fragment((1, N), "float32")
        s = T.alloc_fragment((1,), "float32")
        t = T.alloc_fragment((1,), "float32")
        T.copy(A, a)
        T.reduce_sum(a, r, dim=1)
        T.reduce_sum(a, c, dim=0)
        T.reduce_max(r, s, dim=0)
        T.reduce_max(c, t, dim=1)
        for i in T.Parallel(1):
            s[i] = s[i] - 2 * t[i]
        T.copy(s, C)
    return C


def test_a_vector_of_one_element_has_no_axis() -> None:
    a = integers(40, 50)
    expected = a.sum(axis=1).max() - 2 * a.sum(axis=0).max()
    np.testing.assert_array_equal(one_element(a), [expected])


@tw.jit(target="tenstorrent:sim")
def one_tensor_twice(S, A, block=32):
    M = T.const("M")
    S: T.Tensor((M,), "float32")
    A: T.Tensor((M, M), "float32")
    C = T.empty((M, M), "float32")
    with T.Kernel(T.ceildiv(M, block), T.ceildiv(M, block)) as (bx, by):
        a = T.alloc_fragment((block, block), "float32")
        row = T.alloc_shared((block,), "float32")
        column = T.alloc_shared((block,), "float32")
        T.copy(A[by * block, bx * block], a)
        T.copy(S[bx * block], row)
        T.copy(S[by * block], column)
        for i, j in T.Parallel(block, block):
            a[i, j] = a[i, j] * row[j] + column[i]
        T.copy(a, C[by * block, bx * block])
    return C


@pytest.mark.parametrize("extent", [32, 70])
def test_a_tensor_as_row_and_as_column(extent: int) -> None:
    s, a = integers(extent), integers(extent, extent)
    check(one_tensor_twice, a * s[None, :] + s[:, None], s, a)


@tw.jit(target="tenstorrent:sim")
def row_maxima(A):
    M, N = T.const("M, N")
    A: T.Tensor((M, N), "float32")
    C = T.empty((M,), "float32")
    with T.Kernel(T.ceildiv(M, 64)) as by:
        a = T.alloc_shared((64, 32), "float32")
        largest = T.alloc_shared((64,), "float32")
        T.copy(A[by * 64, 0], a)
        T.reduce_max(a, largest, dim=1)
        T.copy(largest, C[by * 64])
    return C


@pytest.mark.parametrize("rows", [1, 2, 64, 65])
def test_a_vector_along_rows_of_any_length(rows: int) -> None:
    """A vector of one element has the axis of the block of 64 that is stored to it."""
    a = integers(rows, 32)
    check(row_maxima, a.max(1), a, executors=EXECUTORS)
