"""Rows that a kernel selects under a condition are read with wide loads."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, whole
from tilewright import T
from tilewright.dialects.simt import MoveOp
from tilewright.dialects.tile import Space, space_of
from tilewright.ir.traversal import walk


def selecting(fill: int):
    @tw.jit
    def selected_rows(A, Rows, Counts):
        A: T.Tensor((32, 64), "float16")
        Rows: T.Tensor((16,), "int32")
        Counts: T.Tensor((1,), "int32")
        Out = T.empty((16, 64), "float16")
        with T.Kernel(1, threads=128):
            rows = T.alloc_shared((16,), "int32")
            staged = T.alloc_shared((16, 64), "float16")
            T.copy(Rows, rows)
            for i, j in T.Parallel(16, 64):
                staged[i, j] = T.if_then_else(i < Counts[0], A[rows[i], j], fill)
            T.copy(staged, Out)
        return Out

    return selected_rows


def arguments(count: int) -> tuple[np.ndarray, ...]:
    rows = np.array([3, 31, 0, 7, 7, 40, 2, 30, -1, 5, 9, 1, 6, 8, 4, 10], np.int32)
    return whole(2, 32, 64), rows, np.array([count], np.int32)


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("count", [0, 5, 9, 16])
def test_rows_within_the_count_and_the_tensor(count: int, fill: int) -> None:
    a, rows, counts = arguments(count)
    expected = np.full((16, 64), fill, np.float16)
    for i in range(count):
        expected[i] = a[rows[i]] if 0 <= rows[i] < 32 else 0
    check(selecting(fill), a, rows, counts, expected=expected, cubin=count == 5)


def test_the_loads_are_wide() -> None:
    module, _ = lowered(selecting(0), *arguments(5))
    loads = [
        op
        for op in walk(module)
        if isinstance(op, MoveOp) and space_of(op.src.type) is Space.GLOBAL
    ]
    assert 8 in [op.lanes.value.data for op in loads]
