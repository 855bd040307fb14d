"""Copies and fills at an offset of each thread: every thread has elements of its own."""

import numpy as np
import pytest

import tilewright as tw
from tilewright import T


def _rows(rows, columns, width):
    """Each of 16 x 2 threads sums its part of a row into one element of the part."""

    @tw.jit
    def kernel(A):
        A: T.Tensor((rows, columns), "float32")
        B = T.empty((rows, columns), "float32")
        with T.Kernel(-(-rows // 16), threads=(16, 2)) as block:
            row = T.get_thread_binding(0)
            part = T.get_thread_binding(1)
            own = T.alloc_local([width], "float32")
            T.copy(A[block * 16 + row, part * width : (part + 1) * width], own)
            own[row % width] = own[0] + own[width - 1]
            T.copy(own, B[block * 16 + row, part * width : (part + 1) * width])
        return B

    return kernel


@pytest.mark.parametrize(("rows", "columns"), [(32, 64), (30, 60), (17, 33), (1, 64)])
def test_a_thread_copies_its_part_and_what_is_outside_of_the_tensor_is_left_out(rows, columns):
    values = np.random.default_rng(rows).integers(1, 9, (rows, columns)).astype(np.float32)
    expected = values.copy()
    for row in range(rows):
        for start in (0, 32):
            padded = np.zeros(32, np.float32)
            found = values[row, start : start + 32]
            padded[: len(found)] = found
            at = start + row % 16
            if at < columns:
                expected[row, at] = padded[0] + padded[31]
    np.testing.assert_array_equal(_rows(rows, columns, 32)(values), expected)


def test_a_thread_fills_its_part_of_shared_memory():
    @tw.jit
    def kernel(A):
        A: T.Tensor((8,), "int32")
        B = T.empty((32,), "int32")
        with T.Kernel(1, threads=8):
            thread = T.get_thread_binding(0)
            tile = T.alloc_shared((32,), "int32")
            T.clear(tile)
            T.sync_threads()
            T.fill(tile[thread * 4 : thread * 4 + 3], 7)
            tile[thread * 4 + 3] = A[thread]
            T.sync_threads()
            T.copy(tile, B)
        return B

    given = np.arange(8, dtype=np.int32)
    expected = np.full((8, 4), 7)
    expected[:, 3] = given
    np.testing.assert_array_equal(kernel(given), expected.ravel())
