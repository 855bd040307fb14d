"""Kernels of the shapes that public reports about TileLang name: right here, or a clear error.

Numbers are those of issues in the repository tile-ai/tilelang; the kernels are our own. Each goes
through the GPU pipeline to a cubin for Hopper, and gives the right values at the tile level and,
thread by thread with all checks on, at the thread level. Where the answer is an error, its advice
is taken and checked the same way.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, product, source_of, whole
from tilewright import T
from tilewright.ir.diagnostics import CompileError, Severity

# -- pipelines -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "second"), [(2, 3), (3, 1)])
def test_2309_two_pipelined_loops_share_buffers_with_different_numbers_of_stages(first, second):
    @tw.jit
    def two_products(A, B):
        A: T.Tensor((64, 256), "float16")
        B: T.Tensor((256, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 64), "float16")
            B_shared = T.alloc_shared((64, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.clear(total)
            for k in T.Pipelined(2, num_stages=first):
                T.copy(A[0, k * 64], A_shared)
                T.copy(B[k * 64, 0], B_shared)
                T.gemm(A_shared, B_shared, total)
            for k in T.Pipelined(2, num_stages=second):
                T.copy(A[0, 128 + k * 64], A_shared)
                T.copy(B[128 + k * 64, 0], B_shared)
                T.gemm(A_shared, B_shared, total)
            T.copy(total, C)
        return C

    a, b = whole(0, 64, 256), whole(1, 256, 64)
    check(two_products, a, b, expected=product(a, b))


def test_2566_a_pipelined_loop_of_one_turn_comes_to_an_end():
    @tw.jit
    def one_turn(A, B):
        A: T.Tensor((64, 64), "float16")
        B: T.Tensor((64, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 64), "float16")
            B_shared = T.alloc_shared((64, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.clear(total)
            for k in T.Pipelined(1, num_stages=3):
                T.copy(A[0, k * 64], A_shared)
                T.copy(B[k * 64, 0], B_shared)
                T.gemm(A_shared, B_shared, total)
            T.copy(total, C)
        return C

    a, b = whole(2, 64, 64), whole(3, 64, 64)
    check(one_turn, a, b, expected=product(a, b))


@pytest.mark.parametrize("stages", [0, 2, 3])
def test_2668_a_buffer_is_read_and_then_filled_for_the_next_turn(stages):
    @tw.jit
    def running(A, First):
        A: T.Tensor((8, 32), "int32")
        First: T.Tensor((32,), "int32")
        Out = T.empty((32,), "int32")
        with T.Kernel(1, threads=32):
            staged = T.alloc_shared((32,), "int32")
            total = T.alloc_fragment((32,), "int32")
            T.clear(total)
            T.copy(First, staged)
            for k in T.Pipelined(8, num_stages=stages):
                for i in T.Parallel(32):
                    total[i] = total[i] + staged[i]
                T.copy(A[k, :], staged)
            T.copy(total, Out)
        return Out

    a, first = whole(4, 8, 32, dtype="int32"), whole(5, 32, dtype="int32")
    # The last row is loaded, and never added.
    engine = check(running, a, first, expected=first + a[:-1].sum(axis=0, dtype=np.int32))
    if stages:
        assert "TW4045" in [each.code for each in engine.diagnostics]


@pytest.mark.parametrize(
    ("groups", "stages", "width"), [(1, 2, 64), (1, 3, 80), (2, 2, 80), (2, 3, 64)]
)
def test_2643_a_shared_tile_is_cleared_before_a_pipelined_product_and_written_after(
    groups, stages, width
):
    """Where the tile is wider than the product, the zeros stay."""
    rows, threads = 64 * groups, 128 * groups

    @tw.jit
    def through_scratch(A, B):
        A: T.Tensor((rows, 128), "float16")
        B: T.Tensor((128, 64), "float16")
        C = T.empty((rows, width), "float32")
        with T.Kernel(1, threads=threads):
            A_shared = T.alloc_shared((rows, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            scratch = T.alloc_shared((rows, width), "float32")
            total = T.alloc_fragment((rows, 64), "float32")
            T.clear(scratch)
            T.clear(total)
            for k in T.Pipelined(4, num_stages=stages):
                T.copy(A[0, k * 32], A_shared)
                T.copy(B[k * 32, 0], B_shared)
                T.gemm(A_shared, B_shared, total)
            for i, j in T.Parallel(rows, 64):
                scratch[i, j] = total[i, j]
            T.copy(scratch, C)
        return C

    a, b = whole(16, rows, 128), whole(17, 128, 64)
    # Warps of their own fetch: more threads run than the author asked for.
    bounds = re.search(r"__launch_bounds__\((\d+)", source_of(lowered(through_scratch, a, b)[0]))
    assert bounds and int(bounds[1]) > threads
    expected = np.zeros((rows, width), np.float32)
    expected[:, :64] = product(a, b)
    check(through_scratch, a, b, expected=expected)


# -- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [24, 40])
def test_2381_k_that_is_no_multiple_of_the_deepest_instruction(depth):
    @tw.jit
    def multiply(A, B):
        A: T.Tensor((64, depth), "float16")
        B: T.Tensor((depth, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, depth), "float16")
            B_shared = T.alloc_shared((depth, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.gemm(A_shared, B_shared, total, clear_accum=True)
            T.copy(total, C)
        return C

    a, b = whole(6, 64, depth), whole(7, depth, 64)
    engine = check(multiply, a, b, expected=product(a, b))
    assert engine.diagnostics[0].message.startswith("wgmma not used, mma.sync instead: ")


def test_2644_accumulators_in_tensor_memory_are_for_another_gpu():
    """The report lists doubts about Blackwell's tensor memory; for Hopper it is an error."""

    @tw.jit
    def multiply(A, B):
        A: T.Tensor((128, 64), "float16")
        B: T.Tensor((64, 128), "float16")
        C = T.empty((128, 128), "float32")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((128, 64), "float16")
            B_shared = T.alloc_shared((64, 128), "float16")
            total = T.alloc_tmem((128, 128), "float32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.gemm(A_shared, B_shared, total, clear_accum=True)
            T.copy(total, C)
        return C

    with pytest.raises(
        CompileError, match=r"requires sm_100, the target is sm_90[\s\S]*T.alloc_fragment"
    ):
        lowered(multiply, whole(8, 128, 64), whole(9, 64, 128))


# -- layouts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [24, 48, 64, 96])
def test_2394_a_row_is_spread_over_columns_that_are_no_power_of_two(columns):
    @tw.jit
    def spread(D):
        D: T.Tensor((columns,), "float32")
        X = T.empty((32, columns), "float32")
        with T.Kernel(1, threads=128):
            row = T.alloc_fragment((columns,), "float32")
            tile = T.alloc_fragment((32, columns), "float32")
            T.copy(D, row)
            for i, j in T.Parallel(32, columns):
                tile[i, j] = row[j] * 2.0
            T.copy(tile, X)
        return X

    d = whole(10, columns, dtype="float32")
    check(spread, d, expected=np.broadcast_to(d * 2, (32, columns)))


@pytest.mark.parametrize("width", [192, 229, 257])
def test_2398_a_fragment_wider_than_the_threads_and_no_multiple_of_them(width):
    @tw.jit
    def scaled(X):
        X: T.Tensor((1, width), "float32")
        Y = T.empty((1, width), "float32")
        with T.Kernel(1, threads=128):
            row = T.alloc_fragment((1, width), "float32")
            T.copy(X, row)
            for i, j in T.Parallel(1, width):
                row[i, j] = row[i, j] * 2.0 + 1.0
            T.copy(row, Y)
        return Y

    x = whole(11, 1, width, dtype="float32")
    check(scaled, x, expected=x * 2 + 1)


@pytest.mark.parametrize("size", [24, 7, 32])
def test_2955_a_table_is_read_modulo_its_size_in_a_loop_over_two_axes(size):
    @tw.jit
    def repeated(B):
        B: T.Tensor((size,), "float32")
        Y = T.empty((32, 32), "float32")
        with T.Kernel(1, threads=128):
            for i, j in T.Parallel(32, 32):
                Y[i, j] = B[j % size] + i
        return Y

    b = whole(12, size, dtype="float32")
    rows, columns = np.indices((32, 32))
    check(repeated, b, expected=b[columns % size] + rows.astype(np.float32))


# -- barriers ------------------------------------------------------------------------------------


def test_2556_threads_that_are_no_whole_warps_exchange_values_in_an_if():
    @tw.jit
    def inside(X):
        X: T.Tensor((64,), "float32")
        Y = T.empty((64,), "float32")
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            staged = T.alloc_shared((64,), "float32")
            Y[tx] = 0.0
            if tx < 48:
                staged[tx] = X[tx]
                Y[tx] = staged[47 - tx]
        return Y

    @tw.jit
    def apart(X):
        X: T.Tensor((64,), "float32")
        Y = T.empty((64,), "float32")
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            staged = T.alloc_shared((64,), "float32")
            Y[tx] = 0.0
            if tx < 48:
                staged[tx] = X[tx]
            if tx < 48:
                Y[tx] = staged[47 - tx]
        return Y

    x = whole(13, 64, dtype="float32")
    with pytest.raises(
        CompileError, match=r"only 48 of 64 threads reach it[\s\S]*start a second if"
    ):
        lowered(inside, x)
    expected = np.concatenate([x[47::-1], np.zeros(16, np.float32)])
    check(apart, x, expected=expected)


@pytest.mark.parametrize("condition", ["every fourth thread", "what the data say"])
def test_2612_threads_exchange_values_in_a_loop_inside_an_if(condition):
    by_data = condition == "what the data say"

    @tw.jit
    def inside(X, Mask):
        X: T.Tensor((64,), "float32")
        Mask: T.Tensor((64,), "int32")
        Y = T.empty((64,), "float32")
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            staged = T.alloc_shared((64,), "float32")
            total = T.alloc_local((1,), "float32")
            total[0] = 0.0
            staged[tx] = 0.0
            if (Mask[tx] != 0) if by_data else (tx % 4 == 0):
                for k in T.serial(4):
                    staged[tx] = X[tx] + k
                    total[0] = total[0] + staged[60 - tx]
            Y[tx] = total[0]
        return Y

    @tw.jit
    def apart(X, Mask):
        X: T.Tensor((64,), "float32")
        Mask: T.Tensor((64,), "int32")
        Y = T.empty((64,), "float32")
        with T.Kernel(1, threads=64):
            tx = T.get_thread_binding()
            staged = T.alloc_shared((64,), "float32")
            total = T.alloc_local((1,), "float32")
            total[0] = 0.0
            staged[tx] = 0.0
            for k in T.serial(4):
                if (Mask[tx] != 0) if by_data else (tx % 4 == 0):
                    staged[tx] = X[tx] + k
                if (Mask[tx] != 0) if by_data else (tx % 4 == 0):
                    total[0] = total[0] + staged[60 - tx]
            Y[tx] = total[0]
        return Y

    x, mask = whole(14, 64, dtype="float32"), (np.arange(64) % 4 == 0).astype(np.int32)
    if by_data:
        found = [each for each in lowered(inside, x, mask)[1].diagnostics if each.code == "TW4072"]
        assert [each.severity for each in found] == [Severity.WARNING]
    else:
        with pytest.raises(
            CompileError, match=r"only 16 of 64 threads reach it[\s\S]*move the loop out of the if"
        ):
            lowered(inside, x, mask)
    expected = np.zeros(64, np.float32)
    expected[::4] = 4 * x[60::-4] + 6
    check(apart, x, mask, expected=expected)


@pytest.mark.parametrize("start", [0, 10])
def test_2698_a_part_of_a_buffer_is_filled_after_a_copy_into_it(start):
    @tw.jit
    def padded(X):
        X: T.Tensor((64,), "float32")
        Y = T.empty((64,), "float32")
        with T.Kernel(1, threads=64):
            staged = T.alloc_shared((64,), "float32")
            T.copy(X, staged)
            T.fill(staged[start : start + 6], -1.0)
            T.copy(staged, Y)
        return Y

    x = whole(15, 64, dtype="float32")
    expected = x.copy()
    expected[start : start + 6] = -1
    check(padded, x, expected=expected)
