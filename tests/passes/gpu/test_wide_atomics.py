"""Updates of several contiguous elements in an iteration are one vector reduction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tests.passes.gpu.seeds import check, lowered, source_of, whole
from tilewright import T

ROWS, COLUMNS = 16, 64


def scattered(dtype: str, width: int, space: str = "shared", shift: int = 0) -> Any:
    """Rows of X are added to the rows of Out that Slots names, `width` elements at a time."""
    parts = (COLUMNS - shift) // width

    @tw.jit
    def main(X, Slots, Out):
        X: T.Tensor((ROWS, COLUMNS), dtype)
        Slots: T.Tensor((ROWS,), "int32")
        Out: T.Tensor((ROWS, COLUMNS), dtype)
        with T.Kernel(1, threads=128):
            if space == "shared":
                x = T.alloc_shared((ROWS, COLUMNS), dtype)
                T.copy(X, x)
            else:
                x = X
            for i, j in T.Parallel(ROWS, parts):
                at = j * width + shift
                if width == 4:
                    T.atomic_addx4(Out[Slots[i], at], x[i, at])
                else:
                    T.atomic_addx2(Out[Slots[i], at], x[i, at])

    return main


def arguments(dtype: str) -> tuple[np.ndarray, ...]:
    """Slots repeat, and two of them do not exist."""
    slots = np.array([*range(8), 3, 3, 0, 15, -1, 16, 7, 9], np.int32)
    return whole(1, ROWS, COLUMNS, dtype=dtype), slots, whole(2, ROWS, COLUMNS, dtype=dtype)


def expected_of(x: np.ndarray, slots: np.ndarray, out: np.ndarray, shift: int = 0) -> np.ndarray:
    found = out.copy()
    inside = (slots >= 0) & (slots < ROWS)
    np.add.at(found[:, shift:], slots[inside], x[inside, shift:])
    return found


@pytest.mark.parametrize("space", ["shared", "global"])
@pytest.mark.parametrize(
    ("dtype", "width", "called"),
    [
        ("float32", 4, "red_add_f32<16>("),
        ("float32", 2, "red_add_f32<8>("),
        ("float16", 2, "red_add_f16x2<4>("),
    ],
)
def test_one_reduction_for_all_elements(dtype: str, width: int, called: str, space: str) -> None:
    """A reduction for each element took four times as many instructions."""
    given = arguments(dtype)
    kernel = scattered(dtype, width, space)
    check(kernel, *given, expected=expected_of(*given))
    text = source_of(lowered(kernel, *given)[0])
    assert called in text
    assert "atomicAdd(" not in text


def test_elements_that_are_not_aligned_are_added_one_by_one() -> None:
    given = arguments("float32")
    kernel = scattered("float32", 4, shift=1)
    last = 1 + (COLUMNS - 1) // 4 * 4
    expected = expected_of(*given, shift=1)
    expected[:, last:] = given[2][:, last:]
    check(kernel, *given, expected=expected)
    assert "red_add_f32<16>(" not in source_of(lowered(kernel, *given)[0])
