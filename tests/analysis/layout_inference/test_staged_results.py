"""Results of GEMMs that threads store through shared memory are swizzled there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.analysis.layout_inference.test_free_layouts import solver
from tests.passes.gpu.seeds import check, product, whole
from tilewright import T
from tilewright.analysis.layout_inference.swizzles import Swizzle

M, K = 128, 32


def gemm(columns: int, dtype: str = "float16", order: str = "rows") -> Any:
    """Rows of the result begin at a run-time value, which may be negative: TMA cannot store them."""

    @tw.jit
    def main(A, B, Start):
        A: T.Tensor((M, K), "float16")
        B: T.Tensor((K, columns), "float16")
        Start: T.Tensor((1,), "int32")
        C = T.empty((M + 5, columns), dtype)
        with T.Kernel(1, threads=128):
            a = T.alloc_shared((M, K), "float16")
            b = T.alloc_shared((K, columns), "float16")
            c = T.alloc_fragment((M, columns), "float32")
            out = T.alloc_shared((M, columns), dtype)
            T.copy(A, a)
            T.copy(B, b)
            T.clear(c)
            T.gemm(a, b, c)
            T.fill(C, 0)
            T.copy(c, out)
            if order == "rows":
                T.copy(out, C[Start[0] : Start[0] + M, 0:columns])
            elif order == "shifted":
                for i, j in T.Parallel(M, columns):
                    C[Start[0] + i, j] = out[i, (j + 1) % columns]
            else:
                for i, j in T.Parallel(M, columns):
                    C[Start[0] + i, j] = out[i, j] + out[0, j]
        return C

    return main


def arguments(columns: int, start: int) -> tuple[np.ndarray, ...]:
    return whole(1, M, K), whole(2, K, columns), np.array([start], np.int32)


def width_of(kernel: Any, *given: np.ndarray) -> int | None:
    plan = solver(kernel, *given).solve()
    assert plan is not None
    found = [each for buffer, each in plan.shared.items() if plan.names[buffer] == "out"]
    assert all(isinstance(each, Swizzle) for each in found)
    return found[0].width if found else None


@pytest.mark.parametrize(
    ("columns", "dtype", "width"),
    [
        (64, "float16", 128),
        (192, "float16", 128),
        (96, "float16", 64),
        (32, "float32", 128),
        (8, "float16", None),
    ],
)
def test_values_and_swizzles(columns: int, dtype: str, width: int | None) -> None:
    """With rows of 384 bytes, the eight rows that a warp writes at once were in the same banks."""
    a, b, start = arguments(columns, 3)
    expected = np.zeros((M + 5, columns), dtype)
    expected[3 : M + 3] = product(a, b)
    kernel = gemm(columns, dtype)
    check(kernel, a, b, start, expected=expected, cubin=False)
    assert width_of(kernel, a, b, start) == width


def test_rows_past_both_ends_of_the_tensor() -> None:
    for first in (-7, 40):
        a, b, start = arguments(64, first)
        expected = np.zeros((M + 5, 64), np.float16)
        rows = range(max(first, 0), min(first + M, M + 5))
        expected[rows.start : rows.stop] = product(a, b)[rows.start - first : rows.stop - first]
        check(gemm(64), a, b, start, expected=expected, cubin=False)


@pytest.mark.parametrize("order", ["shifted", "twice"])
def test_buffers_that_are_read_in_another_way_stay_plain(order: str) -> None:
    given = arguments(64, 0)
    assert width_of(gemm(64, order=order), *given) is None
