"""Kernels of public reports about TileLang's reductions and scans: any width, any threads.

As in `test_bug_seeds`, numbers are those of issues in tile-ai/tilelang, and kernels are our own.
"""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, whole
from tilewright import T
from tilewright.ir.diagnostics import CompileError
from tilewright.targets.numpy.errors import Unsupported
from tilewright.targets.numpy.tile.api import TileFault

# -- widths and numbers of threads that are no powers of two ---------------------------------------


@pytest.mark.parametrize("word", ["sum", "max"])
def test_2542_forty_eight_threads_reduce_a_line(word):
    reduce = getattr(T, f"reduce_{word}")

    @tw.jit
    def line(X):
        X: T.Tensor((1, 48), "float32")
        Y = T.empty((1,), "float32")
        with T.Kernel(1, threads=48):
            row = T.alloc_fragment((1, 48), "float32")
            found = T.alloc_fragment((1,), "float32")
            T.copy(X, row)
            reduce(row, found, dim=1)
            T.copy(found, Y)
        return Y

    x = np.arange(1, 49, dtype=np.float32).reshape(1, 48)
    check(line, x, expected=getattr(np, word)(x, axis=1))


@pytest.mark.parametrize("threads", [96, 192, 256])
def test_3266_three_columns_are_reduced_along_rows(threads):
    @tw.jit
    def columns(X):
        X: T.Tensor((32, 3), "float32")
        Y = T.empty((3,), "float32")
        with T.Kernel(1, threads=threads):
            tile = T.alloc_fragment((32, 3), "float32")
            found = T.alloc_fragment((3,), "float32")
            T.copy(X, tile)
            T.reduce_max(tile, found, dim=0)
            T.copy(found, Y)
        return Y

    x = np.arange(96, dtype=np.float32).reshape(32, 3)
    check(columns, x, expected=np.array([93, 94, 95], np.float32))


@pytest.mark.parametrize("width", [96, 100, 120, 127])
def test_2399_the_reduced_width_is_no_multiple_of_the_threads(width):
    @tw.jit
    def row(X):
        X: T.Tensor((1, width), "float32")
        Y = T.empty((1, width), "float32")
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((1, width), "float32")
            total = T.alloc_fragment((1,), "float32")
            T.copy(X, tile)
            T.reduce_sum(tile, total, dim=1)
            for i, j in T.Parallel(1, width):
                tile[i, j] = tile[i, j] - total[i]
            T.copy(tile, Y)
        return Y

    x = whole(0, 1, width, dtype="float32")
    check(row, x, expected=x - x.sum(), cubin=width == 127)


@pytest.mark.parametrize(("word", "running"), [("cumsum", np.add), ("cummax", np.maximum)])
def test_2576_ninety_six_threads_scan_a_line(word, running):
    scan = getattr(T, word)

    @tw.jit
    def line(X):
        X: T.Tensor((4, 100), "float32")
        Y = T.empty((4, 100), "float32")
        with T.Kernel(1, threads=96):
            rows = T.alloc_shared((4, 100), "float32")
            T.copy(X, rows)
            scan(rows, dim=1)
            T.copy(rows, Y)
        return Y

    x = whole(1, 4, 100, dtype="float32")
    check(line, x, expected=running.accumulate(x, axis=1))


@pytest.mark.parametrize(("word", "batch"), [("sum", 2), ("max", 4)])
def test_2524_several_rows_are_combined_at_once(word, batch):
    """The report has 64 threads along the rows, which is half of the block."""
    reduce = getattr(T, f"reduce_{word}")

    @tw.jit
    def rows(X):
        X: T.Tensor((8, 256), "float32")
        Y = T.empty((8,), "float32")
        with T.Kernel(1, threads=128):
            tile = T.alloc_fragment((8, 256), "float32")
            found = T.alloc_fragment((8,), "float32")
            T.copy(X, tile)
            reduce(tile, found, dim=1, batch=batch)
            T.copy(found, Y)
        return Y

    x = whole(2, 8, 256, dtype="float32")
    check(rows, x, expected=getattr(np, word)(x, axis=1), cubin=batch == 2)


# -- reducers --------------------------------------------------------------------------------------


@pytest.mark.parametrize("replication", [None, "all"])
@pytest.mark.parametrize("width", [48, 100])
def test_2408_threads_are_no_multiple_of_the_width_of_a_reducers_loop(width, replication):
    @tw.jit
    def times_vector(A, X):
        A: T.Tensor((8, 2 * width), "float32")
        X: T.Tensor((2 * width,), "float32")
        Y = T.empty((8,), "float32")
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((8, width), "float32")
            x = T.alloc_shared((width,), "float32")
            total = T.alloc_reducer((8,), "float32", op="sum", replication=replication)
            T.clear(total)
            for k in T.serial(2):
                T.copy(A[0, k * width], a)
                T.copy(X[k * width], x)
                for i, j in T.Parallel(8, width):
                    total[i] += a[i, j] * x[j]
            T.finalize_reducer(total)
            T.copy(total, Y)
        return Y

    a, x = whole(3, 8, 2 * width, dtype="float32"), whole(4, 2 * width, dtype="float32")
    check(times_vector, a, x, expected=a @ x, cubin=width == 100)


@pytest.mark.parametrize(("op", "start"), [("sum", 0.0), ("max", -100.0)])
def test_2623_a_reducer_of_many_elements_is_finished_a_few_at_a_time(op, start):
    @tw.jit
    def columns(X):
        X: T.Tensor((32, 64), "float32")
        Y = T.empty((64,), "float32")
        with T.Kernel(1, threads=128):
            found = T.alloc_reducer((64,), "float32", op=op, replication="all")
            T.fill(found, start)
            for i, j in T.Parallel(32, 64):
                if op == "sum":
                    found[j] += X[i, j]
                else:
                    found[j] = T.max(found[j], X[i, j])
            T.finalize_reducer(found, batch=4)
            T.copy(found, Y)
        return Y

    x = whole(5, 32, 64, dtype="float32")
    check(columns, x, expected=getattr(np, op)(x, axis=0))


def test_a_reducer_of_numbers_without_sign():
    @tw.jit
    def largest(X):
        X: T.Tensor((8, 64), "uint32")
        Y = T.empty((8,), "uint32")
        with T.Kernel(1, threads=64):
            found = T.alloc_reducer((8,), "uint32", op="max")
            T.fill(found, 0)
            for i, j in T.Parallel(8, 64):
                found[i] = T.max(found[i], X[i, j])
            T.finalize_reducer(found)
            T.copy(found, Y)
        return Y

    x = np.random.default_rng(11).integers(0, 2**32, (8, 64), dtype=np.uint32)
    check(largest, x, expected=x.max(axis=1))


def test_a_reducer_is_updated_by_its_op_only():
    @tw.jit
    def chosen(X):
        X: T.Tensor((8, 64), "float32")
        Y = T.empty((8,), "float32")
        with T.Kernel(1, threads=64):
            found = T.alloc_reducer((8,), "float32", op="max")
            T.fill(found, -100.0)
            for i, j in T.Parallel(8, 64):
                found[i] = T.if_then_else(found[i] > X[i, j], found[i], X[i, j])
            T.finalize_reducer(found)
            T.copy(found, Y)
        return Y

    x = whole(12, 8, 64, dtype="float32")
    with pytest.raises(Unsupported, match=r"found is a reducer[\s\S]*found\[i\] = T\.max"):
        chosen(x)
    with pytest.raises(CompileError, match=r"only found\[i\] = max\(found\[i\], x\) is allowed"):
        lowered(chosen, x)


# -- layouts of results ----------------------------------------------------------------------------


def test_1719_a_result_in_the_middle_is_divided_by_a_tile():
    @tw.jit
    def middle(X, D):
        X: T.Tensor((32, 4, 4), "float32")
        D: T.Tensor((32, 4), "float32")
        Y = T.empty((32, 4), "float32")
        with T.Kernel(1, threads=128):
            divisor = T.alloc_fragment((32, 4), "float32")
            total = T.alloc_fragment((32, 4), "float32")
            tile = T.alloc_fragment((32, 4, 4), "float32")
            T.copy(D, divisor)
            for i, j, k in T.Parallel(32, 4, 4):
                tile[i, j, k] = X[i, j, k] + 1.0
            T.reduce_sum(tile, total, dim=1)
            for i, k in T.Parallel(32, 4):
                total[i, k] /= divisor[i, k]
            T.copy(total, Y)
        return Y

    x = whole(6, 32, 4, 4, dtype="float32")
    d = 2.0 ** whole(7, 32, 4, dtype="float32")
    check(middle, x, d, expected=(x + 1).sum(axis=1) / d)


def test_1374_groups_of_thirty_two_columns_are_added_to_fourteen_sums():
    """Iterations that add to one element race; the way that the error names has no race."""

    @tw.jit
    def by_fragment(A, B):
        A: T.Tensor((16, 14), "int32")
        B: T.Tensor((16, 448), "int32")
        C = T.empty((16, 14), "int32")
        with T.Kernel(1, threads=128):
            sums = T.alloc_fragment((16, 14), "int32")
            T.copy(A, sums)
            for i, j in T.Parallel(16, 448):
                sums[i, j // 32] += B[i, j]
            T.copy(sums, C)
        return C

    @tw.jit
    def by_reducer(A, B):
        A: T.Tensor((16, 14), "int32")
        B: T.Tensor((16, 448), "int32")
        C = T.empty((16, 14), "int32")
        with T.Kernel(1, threads=128):
            sums = T.alloc_reducer((16, 14), "int32")
            T.clear(sums)
            for i, j in T.Parallel(16, 448):
                sums[i, j // 32] += B[i, j]
            T.finalize_reducer(sums)
            for i, j in T.Parallel(16, 14):
                C[i, j] = A[i, j] + sums[i, j]
        return C

    a, b = whole(8, 16, 14, dtype="int32"), whole(9, 16, 448, dtype="int32")
    with pytest.raises(TileFault, match=r"race in T\.Parallel[\s\S]*accumulate with T\.atomic_add"):
        by_fragment(a, b)
    with pytest.raises(CompileError, match=r"iterations of one T\.Parallel .* T\.alloc_reducer"):
        lowered(by_fragment, a, b)
    expected = a + b.reshape(16, 14, 32).sum(axis=2, dtype=np.int32)
    check(by_reducer, a, b, expected=expected)


@pytest.mark.parametrize("experts", [72, 160])
def test_1890_the_first_of_the_largest_in_a_fragment_of_whole_warps(experts):
    """The choice of an expert: a maximum, and the lowest index that has it."""
    size = -(-experts // 32) * 32

    @tw.jit
    def choose(Scores):
        Scores: T.Tensor((3, experts), "float32")
        Best = T.empty((3,), "int32")
        with T.Kernel(3, threads=32) as pid:
            scores = T.alloc_fragment((size,), "float32")
            places = T.alloc_fragment((size,), "int32")
            largest = T.alloc_fragment((1,), "float32")
            first = T.alloc_reducer((1,), "int32", op="min", replication="all")
            for i in T.Parallel(size):
                if i < experts:
                    scores[i] = Scores[pid, i]
                else:
                    scores[i] = -T.infinity("float32")
                places[i] = i
            T.reduce_max(scores, largest, dim=0)
            T.fill(first, 1 << 30)
            for i in T.Parallel(size):
                if scores[i] == largest[0]:
                    first[0] = T.min(first[0], places[i])
            T.finalize_reducer(first)
            Best[pid] = first[0]
        return Best

    scores = whole(10, 3, experts, dtype="float32")
    check(choose, scores, expected=scores.argmax(axis=1).astype(np.int32), cubin=experts == 160)


def test_2305_six_elements_a_thread_in_vectors_of_two():
    @tw.jit
    def magnitude(X):
        X: T.Tensor((2, 576), "bfloat16")
        Y = T.empty((2,), "float32")
        with T.Kernel(2, threads=128) as row:
            line = T.alloc_fragment((768,), "bfloat16")
            largest = T.alloc_fragment((1,), "bfloat16")
            for i in T.Parallel(768):
                line[i] = T.if_then_else(i < 576, X[row, i], 0.0)
            T.reduce_absmax(line, largest, dim=0)
            Y[row] = largest[0]
        return Y

    x = np.zeros((2, 576), T.bfloat16.as_numpy())
    x[0, 300], x[1, 575] = -5, 7
    check(magnitude, x, expected=np.array([5, 7], np.float32))
