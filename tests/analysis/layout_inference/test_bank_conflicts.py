"""What TMA fills and threads read from few banks is swizzled; values stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.analysis.layout_inference.test_free_layouts import solver
from tests.passes.gpu.seeds import check, product, whole
from tilewright import T
from tilewright.analysis.layout_inference.swizzles import Swizzle

M, N, BLOCK = 32, 32, 64


def mixed(steps: int, block: int = BLOCK) -> Any:
    """The operand in registers has float32, shared memory float16: lanes go down the rows."""

    @tw.jit
    def main(A, B):
        A: T.Tensor((M, steps * block), "float16")
        B: T.Tensor((N, steps * block), "float32")
        C = T.empty((M, N), "float32")
        with T.Kernel(1, threads=128):
            c = T.alloc_fragment((M, N), "float32")
            T.clear(c)
            for k in T.Pipelined(steps, num_stages=2):
                a = T.alloc_shared((M, block), "float16")
                b = T.alloc_shared((N, block), "float32")
                T.copy(A[0, k * block], a)
                T.copy(B[0, k * block], b)
                wide = T.alloc_fragment((M, block), "float32")
                T.copy(a, wide)
                T.gemm(wide, b, c, transpose_B=True)
            T.copy(c, C)
        return C

    return main


def added(rows: int, columns: int, *, is_transposed: bool = False) -> Any:
    """Loops without a GEMM: whole rows, or columns."""

    @tw.jit
    def main(A):
        A: T.Tensor((rows, columns * 3), "float32")
        C = T.empty((rows, columns), "float32")
        with T.Kernel(1, threads=128):
            c = T.alloc_fragment((columns, rows) if is_transposed else (rows, columns), "float32")
            T.clear(c)
            for k in T.Pipelined(3, num_stages=2):
                a = T.alloc_shared((rows, columns), "float32")
                T.copy(A[0, k * columns], a)
                if is_transposed:
                    for j, i in T.Parallel(columns, rows):
                        c[j, i] += a[i, j]
                else:
                    for i, j in T.Parallel(rows, columns):
                        c[i, j] += a[i, j]
            if is_transposed:
                for j, i in T.Parallel(columns, rows):
                    C[i, j] = c[j, i]
            else:
                T.copy(c, C)
        return C

    return main


def width_of(kernel: Any, *given: np.ndarray) -> int | None:
    plan = solver(kernel, *given).solve()
    assert plan is not None
    found = [each for buffer, each in plan.shared.items() if plan.names[buffer] == "a"]
    assert all(isinstance(each, Swizzle) for each in found)
    return found[0].width if found else None


@pytest.mark.parametrize(("block", "width"), [(64, 128), (32, 64), (128, 128)])
def test_operands_of_another_type(block: int, width: int) -> None:
    """Eight rows of 128 bytes were in the same banks."""
    a, b = whole(1, M, 3 * block), whole(2, N, 3 * block, dtype="float32")
    kernel = mixed(3, block)
    check(kernel, a, b, expected=product(a, b.T), cubin=False)
    assert width_of(kernel, a, b) == width


def test_whole_rows_stay_plain() -> None:
    a = whole(3, 16, 3 * 64, dtype="float32")
    expected = a.reshape(16, 3, 64).sum(axis=1)
    check(added(16, 64), a, expected=expected, cubin=False)
    assert width_of(added(16, 64), a) is None


def test_columns_are_read_from_as_many_banks_as_rows_allow() -> None:
    """32 rows of 128 bytes: one bank for all lanes without a swizzle, eight units with one."""
    a = whole(4, 32, 3 * 32, dtype="float32")
    expected = a.reshape(32, 3, 32).sum(axis=1)
    kernel = added(32, 32, is_transposed=True)
    check(kernel, a, expected=expected, cubin=False)
    assert width_of(kernel, a) == 128
