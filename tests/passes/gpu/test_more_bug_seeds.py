"""More kernels of the shapes that public reports about TileLang name: copies and products.

As in `test_bug_seeds`, numbers are those of issues in tile-ai/tilelang, and kernels are our own.
"""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, product, whole
from tilewright import T
from tilewright.ir.diagnostics import CompileError

# -- copies --------------------------------------------------------------------------------------


@pytest.mark.parametrize("padding", [1, 8])
def test_2581_a_tile_with_padded_rows_is_copied_without_the_padding(padding):
    width = 32 + padding

    @tw.jit
    def padded(X):
        X: T.Tensor((16, 32), "float16")
        Y = T.empty((16, 32), "float16")
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((16, width), "float16")
            T.copy(X, tile[:, 0:32])
            T.copy(tile[:, 0:32], Y)
        return Y

    x = whole(0, 16, 32)
    check(padded, x, expected=x)


@pytest.mark.parametrize("size", [1000, 300])
def test_2529_the_last_part_of_a_line_is_shorter_than_the_others(size):
    @tw.jit
    def parts(X):
        X: T.Tensor((size,), "float16")
        Y = T.empty((size,), "float16")
        with T.Kernel(T.ceildiv(size, 256), threads=128) as bx:
            staged = T.alloc_shared((256,), "float16")
            T.copy(X[bx * 256 : bx * 256 + 256], staged)
            T.copy(staged, Y[bx * 256 : bx * 256 + 256])
        return Y

    x = whole(1, size)
    check(parts, x, expected=x)


@pytest.mark.parametrize("size", [63, 61, 5])
def test_2525_a_line_whose_bytes_are_no_multiple_of_sixteen(size):
    @tw.jit
    def line(X):
        X: T.Tensor((size,), "float32")
        Y = T.empty((size,), "float32")
        with T.Kernel(1, threads=64):
            staged = T.alloc_shared((size,), "float32")
            T.copy(X, staged)
            T.copy(staged, Y)
        return Y

    x = whole(2, size, dtype="float32")
    check(line, x, expected=x)


@pytest.mark.parametrize("threads", [2, 7, 16, 31])
def test_2562_fewer_threads_than_a_warp_write_a_tile(threads):
    @tw.jit
    def few(X):
        X: T.Tensor((16, 32), "float32")
        Y = T.empty((16, 32), "float32")
        with T.Kernel(1, threads=threads):
            tile = T.alloc_shared((16, 32), "float32")
            T.copy(X, tile)
            for i, j in T.Parallel(16, 32):
                tile[i, j] = tile[i, j] + 1.0
            T.copy(tile, Y)
        return Y

    x = whole(3, 16, 32, dtype="float32")
    check(few, x, expected=x + 1)


def test_2564_a_tile_goes_to_another_block_of_the_cluster():
    """The report has a part that begins off 16 bytes; here no block writes another's memory."""

    @tw.jit
    def sent(X):
        X: T.Tensor((64,), "float32")
        Y = T.empty((64,), "float32")
        with T.ClusterKernel(2, threads=32, cluster_dims=(2, 1, 1)) as block:
            mine = T.alloc_shared((64,), "float32")
            other = T.alloc_shared((64,), "float32")
            T.copy(X, mine)
            T.copy_cluster(mine[1:33], other[1:33], dst_block=1)
            T.copy(other[1:33], Y[block * 32])
        return Y

    with pytest.raises(CompileError, match=r"copy_cluster is not supported.*T\.tma_copy"):
        lowered(sent, whole(20, 64, dtype="float32"))


@pytest.mark.parametrize("size", [250, 63])
def test_2567_rows_whose_stride_is_no_multiple_of_sixteen_bytes(size):
    """Such rows have no tensor map: the pipelined loop fetches them another way, and ends."""

    @tw.jit
    def rows(X, Q):
        X: T.Tensor((64, size), "float32")
        Q: T.Tensor((64, size), "float16")
        Y = T.empty((64,), "float32")
        with T.Kernel(1, threads=128):
            tile = T.alloc_shared((64, 64), "float32")
            scale = T.alloc_shared((64, 64), "float16")
            part = T.alloc_fragment((64, 64), "float32")
            total = T.alloc_fragment((64,), "float32")
            T.clear(total)
            for k in T.Pipelined(T.ceildiv(size, 64), num_stages=2):
                T.copy(X[0, k * 64], tile)
                T.copy(Q[0, k * 64], scale)
                for i, j in T.Parallel(64, 64):
                    part[i, j] = tile[i, j] * scale[i, j]
                T.reduce_sum(part, total, dim=1, clear=False)
            T.copy(total, Y)
        return Y

    x, q = whole(4, 64, size, dtype="float32"), whole(5, 64, size)
    check(rows, x, q, expected=(x * q).sum(axis=1))


# -- products ------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [48, 80])
def test_2555_steps_along_k_that_are_no_power_of_two(depth):
    @tw.jit
    def multiply(A, B):
        A: T.Tensor((64, 2 * depth), "float16")
        B: T.Tensor((2 * depth, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, depth), "float16")
            B_shared = T.alloc_shared((depth, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.clear(total)
            for k in T.Pipelined(2, num_stages=2):
                T.copy(A[0, k * depth], A_shared)
                T.copy(B[k * depth, 0], B_shared)
                T.gemm(A_shared, B_shared, total)
            T.copy(total, C)
        return C

    a, b = whole(6, 64, 2 * depth), whole(7, 2 * depth, 64)
    check(multiply, a, b, expected=product(a, b))


def test_2613_two_roles_multiply_by_a_tile_that_all_threads_fetch_again():
    """The tile of the next turn waits until both roles have read that of this turn."""

    @tw.jit
    def halves(A, B):
        A: T.Tensor((64, 128), "float16")
        B: T.Tensor((128, 128), "float16")
        C = T.empty((64, 128), "float32")
        with T.Kernel(1, threads=256):
            A_shared = T.alloc_shared((64, 32), "float16")
            left = T.alloc_shared((32, 64), "float16")
            right = T.alloc_shared((32, 64), "float16")
            first = T.alloc_fragment((64, 64), "float32")
            second = T.alloc_fragment((64, 64), "float32")
            with T.ws(0):
                T.clear(first)
            with T.ws(1):
                T.clear(second)
            for k in T.serial(4):
                T.copy(A[0, k * 32], A_shared)
                with T.ws(0):
                    T.copy(B[k * 32, 0], left)
                    T.gemm(A_shared, left, first)
                with T.ws(1):
                    T.copy(B[k * 32, 64], right)
                    T.gemm(A_shared, right, second)
            with T.ws(0):
                T.copy(first, C[0, 0])
            with T.ws(1):
                T.copy(second, C[0, 64])
        return C

    a, b = whole(8, 64, 128), whole(9, 128, 128)
    check(halves, a, b, expected=product(a, b))


def test_2547_a_product_before_a_pipelined_loop_adds_to_the_same_fragment():
    @tw.jit
    def both(A, B, Q, S):
        A: T.Tensor((64, 128), "float16")
        B: T.Tensor((128, 64), "float16")
        Q: T.Tensor((64, 32), "float16")
        S: T.Tensor((32, 64), "float16")
        C = T.empty((64, 64), "float32")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            Q_shared = T.alloc_shared((64, 32), "float16")
            S_shared = T.alloc_shared((32, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.clear(total)
            T.copy(Q, Q_shared)
            T.copy(S, S_shared)
            T.gemm(Q_shared, S_shared, total)
            for i, j in T.Parallel(64, 64):
                total[i, j] = total[i, j] * 2.0
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[0, k * 32], A_shared)
                T.copy(B[k * 32, 0], B_shared)
                T.gemm(A_shared, B_shared, total)
            T.copy(total, C)
        return C

    a, b, q, s = whole(10, 64, 128), whole(11, 128, 64), whole(12, 64, 32), whole(13, 32, 64)
    check(both, a, b, q, s, expected=2 * product(q, s) + product(a, b))


def test_2548_a_pipelined_loop_inside_a_while():
    @tw.jit
    def tiles(A, B):
        A: T.Tensor((192, 96), "float16")
        B: T.Tensor((96, 64), "float16")
        C = T.empty((192, 64), "float32")
        with T.Kernel(2, threads=128) as block:
            A_shared = T.alloc_shared((64, 32), "float16")
            B_shared = T.alloc_shared((32, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            tile = T.alloc_var("int32", block)
            while tile < 3:
                T.clear(total)
                for k in T.Pipelined(3, num_stages=2):
                    T.copy(A[tile * 64, k * 32], A_shared)
                    T.copy(B[k * 32, 0], B_shared)
                    T.gemm(A_shared, B_shared, total)
                T.copy(total, C[tile * 64, 0])
                tile = tile + 2
        return C

    a, b = whole(14, 192, 96), whole(15, 96, 64)
    check(tiles, a, b, expected=product(a, b))


@pytest.mark.parametrize("side", ["left", "right"])
def test_2954_an_operand_in_registers_is_copied_to_shared_memory(side):
    left = side == "left"

    @tw.jit
    def kept(A, B):
        A: T.Tensor((64, 64), "float16")
        B: T.Tensor((64, 64), "float16")
        C = T.empty((128, 64), "float32")
        with T.Kernel(1, threads=128):
            other = T.alloc_shared((64, 64), "float16")
            registers = T.alloc_fragment((64, 64), "float16")
            out = T.alloc_shared((64, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.copy(A if left else B, registers)
            T.copy(B if left else A, other)
            if left:
                T.gemm(registers, other, total, clear_accum=True)
            else:
                T.gemm(other, registers, total, clear_accum=True)
            T.copy(registers, out)
            T.copy(total, C[0, 0])
            for i, j in T.Parallel(64, 64):
                C[64 + i, j] = out[i, j]
        return C

    a, b = whole(16, 64, 64), whole(17, 64, 64)
    check(kept, a, b, expected=np.concatenate([product(a, b), a if left else b]))


def test_2563_products_of_four_bit_numbers():
    @tw.jit
    def of_int4(A, B):
        A: T.Tensor((64, 64), "int4")
        B: T.Tensor((64, 64), "int4")
        C = T.empty((64, 64), "int32")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 64), "int4")
            B_shared = T.alloc_shared((64, 64), "int4")
            total = T.alloc_fragment((64, 64), "int32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.gemm(A_shared, B_shared, total, transpose_B=True, clear_accum=True)
            T.copy(total, C)
        return C

    @tw.jit
    def of_halves(A, B):
        A: T.Tensor((64, 32), "int8")
        B: T.Tensor((64, 32), "int8")
        C = T.empty((64, 64), "int32")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 64), "int8")
            B_shared = T.alloc_shared((64, 64), "int8")
            total = T.alloc_fragment((64, 64), "int32")
            for i, j in T.Parallel(64, 32):
                A_shared[i, 2 * j] = A[i, j] << 28 >> 28
                A_shared[i, 2 * j + 1] = A[i, j] >> 4
                B_shared[i, 2 * j] = B[i, j] << 28 >> 28
                B_shared[i, 2 * j + 1] = B[i, j] >> 4
            T.gemm(A_shared, B_shared, total, transpose_B=True, clear_accum=True)
            T.copy(total, C)
        return C

    def packed(numbers: np.ndarray) -> np.ndarray:
        return (numbers[:, ::2] & 15) | (numbers[:, 1::2] << 4)

    rng = np.random.default_rng(21)
    a, b = (rng.integers(-8, 8, (64, 64)).astype(np.int8) for _ in "ab")
    expected = a.astype(np.int32) @ b.astype(np.int32).T
    for kernel in (of_int4, of_halves):
        check(kernel, packed(a), packed(b), expected=expected)


@pytest.mark.parametrize("rows", ["serial", "parallel"])
def test_2393_a_serial_loop_adds_up_rows_of_a_product(rows):
    """Which thread holds an element is not the author's to say; rows for threads are right."""
    over_rows = T.serial if rows == "serial" else T.Parallel

    @tw.jit
    def sums(A, B):
        A: T.Tensor((64, 64), "float16")
        B: T.Tensor((64, 64), "float16")
        R = T.empty((64,), "float32")
        with T.Kernel(1, threads=128):
            A_shared = T.alloc_shared((64, 64), "float16")
            B_shared = T.alloc_shared((64, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            found = T.alloc_fragment((64,), "float32")
            T.copy(A, A_shared)
            T.copy(B, B_shared)
            T.gemm(A_shared, B_shared, total, clear_accum=True)
            T.clear(found)
            for i in over_rows(64):
                for j in T.serial(64):
                    found[i] = found[i] + total[i, j]
            T.copy(found, R)
        return R

    a, b = whole(18, 64, 64), whole(19, 64, 64)
    if rows == "serial":
        with pytest.raises(CompileError, match=r"Loop over it with T\.Parallel"):
            lowered(sums, a, b)
        return
    engine = check(sums, a, b, expected=product(a, b).sum(axis=1))
    assert "'total' is staged through shared memory here" in engine.diagnostics[0].message
