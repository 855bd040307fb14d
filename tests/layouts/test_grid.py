"""Grids: a function called once gives what it gives element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.layouts.grid import Grid, coordinates, tabulate

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=3).map(tuple)

FUNCTIONS: list[Any] = [
    lambda i, j, k: i * 7 + j % 3 - k // 2,
    lambda i, j, k: (i ^ j * 2) & 5,
    lambda i, j, k: (10 - i << 1) + (j >> 1) + 3 * k,
    lambda i, j, k: (5 ^ k) * 2 + (j - 4),
    lambda i, j, k: 6,
    lambda i, j, k: 2 + j,
]


@given(SHAPES, st.sampled_from(range(len(FUNCTIONS))))
def test_once_is_as_good_as_one_by_one(shape: tuple[int, ...], which: int):
    def function(*index: Any) -> tuple[Any, ...]:
        i, j, k = (*index, 0, 0)[:3]
        return FUNCTIONS[which](i, j, k), i

    first, second = tabulate(function, shape)
    assert first == [function(*point)[0] for point in np.ndindex(*shape)]
    assert second == [point[0] for point in np.ndindex(*shape)]


def test_coordinates_stay_on_their_axis():
    i, j = coordinates((4, 3))
    assert (i.shape, i.values) == ((4, 1), [0, 1, 2, 3])
    assert (j % 2).shape == (1, 3)
    assert (i * 2 + j).shape == (4, 3)
    assert j.over((2, 3)) == [0, 1, 2, 0, 1, 2]
    assert i.over((4, 2)) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    "function",
    [
        lambda i: ([5, 3, 1][i],),
        lambda i: ({0: 5, 1: 3, 2: 1}[i],),
        lambda i: (5 if i == 0 else 3 if i == 1 else 1,),
        lambda i: ((i and 4 - i) or 5 - 2 * bool(i),),
    ],
)
def test_functions_that_look_or_branch_are_called_for_each_element(function: Any):
    calls: list[object] = []

    def counted(i: Any) -> tuple[Any, ...]:
        calls.append(i)
        return function(i)

    (found,) = tabulate(counted, (3,))
    assert found == [function(i)[0] for i in range(3)]
    assert len(calls) == 4
    assert isinstance(calls[0], Grid)
