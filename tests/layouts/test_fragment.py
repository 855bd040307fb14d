"""Fragments: threads and registers, with copies, repetition, containment, and their inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.layouts.from_linear import fragment_from_linear
from tests.oracles.layouts.replication import (
    condense_replicas,
    counted,
    mixed_radix,
    reduce_dimension,
)
from tests.sampling import examples
from tilewright.layouts.encodings import Blocked, NvidiaMma, Slice
from tilewright.layouts.fragment import Fragment
from tilewright.layouts.linear import LANE, REGISTER, WARP

EIGHT = Fragment((8, 8), lambda i, j: 4 * i + j // 2, lambda i, j: j % 2)


def test_the_base_pattern():
    assert (EIGHT.num_threads, EIGHT.num_registers) == (32, 2)
    assert EIGHT.owners(3, 5) == ((14, 1),)
    assert EIGHT.inverse(14, 1) == (3, 5)
    assert EIGHT.inverse(32, 0) is None
    assert EIGHT.is_injective()
    assert EIGHT.is_complete()


def test_functions_take_arrays():
    i, j = np.indices((8, 8))
    assert [int(t) for t in np.ravel(EIGHT.thread(i, j))] == [t for (t,) in EIGHT.threads]
    assert [int(r) for r in np.ravel(EIGHT.index(i, j))] == list(EIGHT.registers)


@settings(max_examples=examples(40), deadline=None)
@given(st.tuples(st.integers(1, 3), st.integers(1, 3)), st.booleans(), st.booleans())
def test_repeating_by_enumeration(factors: tuple[int, int], on_threads: bool, last_first: bool):
    whole = EIGHT.repeat(factors, on_threads, last_first)
    assert whole.is_injective()
    assert whole.is_complete()
    for i, j in whole.points():
        copy = (i // 8) * factors[1] + j // 8 if last_first else (j // 8) * factors[0] + i // 8
        thread, register = 4 * (i % 8) + j % 8 // 2, j % 2
        expected = (thread + 32 * copy, register) if on_threads else (thread, register + 2 * copy)
        assert whole.owners(i, j) == (expected,)
        assert whole.inverse(*expected) == (i, j)


def test_repeating_in_two_steps():
    assert EIGHT.repeat((2, 1)).repeat((2, 1)) == EIGHT.repeat((4, 1))
    assert EIGHT.repeat((1, 3)).repeat((2, 1)) == EIGHT.repeat((2, 3))
    with pytest.raises(ValueError, match="2 factors are needed, got 1"):
        EIGHT.repeat((2,))


def test_replicas_are_further_threads():
    twice = EIGHT.replicate(2)
    assert twice.owners(3, 5) == ((14, 1), (46, 1))
    assert twice.replicate(3) == EIGHT.replicate(6)
    assert twice.is_complete()
    assert twice.contains(EIGHT)
    assert not EIGHT.contains(twice)
    assert EIGHT.first_missing(twice) == (0, 0)
    repeated = twice.repeat((1, 2))
    assert repeated.owners(3, 13) == ((14, 3), (46, 3))


def test_containment_may_ignore_registers():
    swapped = EIGHT.with_index(lambda i, j: 1 - j % 2)
    assert not EIGHT.contains(swapped)
    assert EIGHT.contains(swapped, same_registers=False)
    shifted = Fragment((8, 8), lambda i, j: (4 * i + j // 2 + 1) % 32, lambda i, j: j % 2)
    assert not EIGHT.contains(shifted, same_registers=False)
    with pytest.raises(ValueError, match="different tiles"):
        EIGHT.contains(EIGHT.repeat((2, 1)))


def test_fully_replicated():
    every = Fragment.replicated((3, 5), 128)
    assert (every.num_threads, every.num_registers) == (128, 15)
    assert {thread for thread, _ in every.owners(2, 4)} == set(range(128))
    assert {register for _, register in every.owners(2, 4)} == {14}
    assert Fragment.replicated((4,), 1).owners(3) == ((0, 3),)


def test_equality_is_about_owners_in_any_order():
    one = Fragment((4,), lambda i, r: i + 4 * r, lambda i: 0, 2)
    other = Fragment((4,), lambda i, r: i + 4 - 4 * r, lambda i: 0, 2)
    assert one == other
    assert hash(one) == hash(other)
    assert one != Fragment((4,), lambda i, r: i + 8 * r, lambda i: 0, 2)
    assert one != Fragment((4,), lambda i: i, lambda i: 0)


def test_an_index_may_have_several_coordinates():
    fragment = Fragment((4, 6), lambda i, j: 0, lambda i, j: (i, j))
    assert fragment.index_shape == (4, 6)
    assert fragment.register_of(2, 3) == 15


def test_two_elements_in_one_register_are_an_error():
    clash = Fragment((4, 4), lambda i, j: i, lambda i, j: j // 2)
    assert not clash.is_injective()
    with pytest.raises(ValueError, match=r"elements \(0, 0\) and \(0, 1\) both map to register 0 "
                                         r"of thread 0"):  # fmt: skip
        clash.inverse(0, 0)


@pytest.mark.parametrize(
    ("encoding", "shape"),
    [
        (Blocked((1, 4), (8, 4), (4, 1), (1, 0)), [64, 64]),
        (Blocked((2, 2), (4, 8), (2, 2), (0, 1)), [32, 32]),
        (Blocked((1, 4), (8, 4), (4, 1), (1, 0)), [16, 16]),
        (NvidiaMma((3, 0), (4, 1), (16, 64, 16)), [128, 64]),
        (Slice(1, NvidiaMma((2, 0), (2, 2), (16, 8))), [64]),
    ],
)
def test_layouts_over_bits_become_fragments(
    encoding: Blocked | NvidiaMma | Slice, shape: list[int]
):
    linear = encoding.to_linear(shape)
    fragment = fragment_from_linear(linear)
    owners: dict[tuple[int, ...], set[tuple[int, int]]] = {}
    for inputs, point in linear.points():
        thread = inputs[LANE] + 32 * inputs[WARP]
        owners.setdefault(point, set()).add((thread, inputs[REGISTER]))
    assert fragment.shape == tuple(shape)
    for point, expected in owners.items():
        assert set(fragment.owners(*point)) == expected


# --- replicas ---------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(2, 4), st.integers(1, 3)), min_size=1, max_size=3))
def test_mixed_radix_lists_its_values(pairs: list[tuple[int, int]]):
    radices: list[tuple[int, int]] = []
    span = 1
    for count, gap in pairs:
        radices.append((count, span * gap))
        span *= gap * count
    values = [counted(n, radices) for n in range(int(np.prod([c for c, _ in radices])))]
    found = mixed_radix(values)
    assert found is not None
    assert [counted(n, found) for n in range(len(values))] == values


def test_values_without_a_pattern():
    assert mixed_radix([0, 2, 3]) is None
    assert mixed_radix([1, 2]) is None
    assert mixed_radix([0, 1, 4, 5, 9, 10]) is None
    assert mixed_radix([0, 2, 4, 6, 16, 18, 20, 22]) == [(4, 2), (2, 16)]


def test_condensing_keeps_each_set_of_threads_once():
    wasteful = Fragment((4,), lambda i, r: i + 4 * (r // 2 % 2), lambda i: 0, 8)
    slim = condense_replicas(wasteful)
    assert slim.replicas == 2
    assert slim == wasteful
    single = condense_replicas(Fragment((4,), lambda i, r: i, lambda i: 0, 8))
    assert single.replicas == 1
    assert single.owners(2) == ((2, 0),)
    retained = EIGHT.replicate(3)
    assert condense_replicas(retained) is retained


def test_reducing_rows_leaves_copies_in_the_threads_of_a_row():
    reduced = reduce_dimension(EIGHT, 1)
    assert reduced.shape == (8,)
    assert reduced.replicas == 4
    assert reduced.num_registers == 1
    assert set(reduced.owners(3)) == {(12, 0), (13, 0), (14, 0), (15, 0)}
    columns = reduce_dimension(EIGHT, 0)
    assert columns.num_registers == 2
    assert {thread for thread, _ in columns.owners(5)} == {2, 6, 10, 14, 18, 22, 26, 30}


def test_reducing_an_accumulator_drops_the_registers_of_the_columns():
    accumulator = EIGHT.repeat((2, 1)).repeat((1, 11))  # 16 x 88: no power of two
    reduced = reduce_dimension(accumulator, 1)
    assert reduced.num_registers == 2
    assert set(reduced.owners(9)) == {(4, 1), (5, 1), (6, 1), (7, 1)}
    for row in range(16):
        owners = {t for column in range(88) for t, _ in accumulator.owners(row, column)}
        assert {thread for thread, _ in reduced.owners(row)} == owners


def test_reducing_everything():
    total = reduce_dimension(Fragment((64,), lambda i: i // 2, lambda i: i % 2), 0)
    assert total.shape == (1,)
    assert {thread for thread, _ in total.owners(0)} == set(range(32))


@pytest.mark.parametrize("axis", [0, 1])
def test_reducing_agrees_with_tritons_slices(axis: int):
    parent = NvidiaMma((3, 0), (4, 1), (16, 64, 16))
    whole = fragment_from_linear(parent.to_linear([64, 64]))
    reduced = reduce_dimension(whole, axis)
    sliced = fragment_from_linear(Slice(axis, parent).to_linear([64]))
    assert reduced == sliced
