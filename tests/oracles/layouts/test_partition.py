"""Tiles distributed over threads."""

from __future__ import annotations

from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.layouts.access_cost import fragment_access
from tests.oracles.layouts.partition import fitting_vector, partition
from tests.sampling import examples
from tilewright.layouts.index_map import Layout


def test_the_usual_tile():
    fragment = partition((64, 64), 128, 8)
    assert fragment.num_registers == 32
    assert fragment.is_complete()
    for i, j in ((0, 0), (3, 17), (63, 63), (20, 8)):
        flat = i * 64 + j
        assert fragment.owners(i, j) == ((flat // 8 % 128, flat // 1024 * 8 + flat % 8),)
    assert fragment_access(fragment, Layout.row_major((64, 64)), 16).width == 8


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=3),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from([4, 32, 48]),
)
def test_every_element_has_one_home(shape: list[int], widest: int, threads: int):
    fragment = partition(shape, threads, widest)
    assert fragment.is_injective()
    assert fragment.num_threads <= threads
    vector = fitting_vector(shape, threads, widest)
    assert vector == 1 or (prod(shape) % (threads * vector) == 0 and shape[-1] % vector == 0)
    registers = -(-prod(shape) // threads)
    assert fragment.num_registers <= max(registers, 1) + vector


def test_left_over_threads_hold_copies():
    few = partition((16,), 64, 4)
    assert few.replicas == 4
    assert set(few.owners(5)) == {(5, 0), (21, 0), (37, 0), (53, 0)}
    assert partition((16,), 64, replicate=False).replicas == 1
    uneven = partition((48,), 64)
    assert (uneven.replicas, uneven.num_threads) == (1, 48)


@pytest.mark.parametrize(
    ("shape", "threads", "widest", "vector"),
    [((64, 64), 128, 8, 8), ((64, 64), 1024, 8, 4), ((3, 5), 32, 8, 1), ((64, 12), 32, 8, 4)],
)
def test_vectors_shrink_until_they_fit(shape: tuple[int, int], threads: int, widest: int, vector: int):  # fmt: skip
    assert fitting_vector(shape, threads, widest) == vector
