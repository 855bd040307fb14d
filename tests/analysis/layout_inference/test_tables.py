"""Layouts as tables, and the formulas found in them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles.layouts.block_fragments import (
    mma_accumulator,
    wgmma_accumulator,
    wgmma_operand_a,
)
from tilewright.analysis.layout_inference.fit import digits, formula
from tilewright.analysis.layout_inference.gemm_plan import GemmPlan
from tilewright.analysis.layout_inference.nvidia_gemms import accumulator, operand_a
from tilewright.analysis.layout_inference.table import NotALayout, Table, reduced


def assert_formulas_hold(table: Table) -> None:
    """The expressions reproduce every value of the table."""
    assert Table.from_map(table.as_map()) == table
    threads, registers = np.indices((table.num_threads, table.num_registers))
    for expression, expected in zip(table.coordinates(), table.inverse, strict=True):
        np.testing.assert_array_equal(
            np.broadcast_to(expression.evaluate((threads, registers)), expected.shape), expected
        )


@pytest.mark.parametrize("groups", [(1, 1), (2, 1), (1, 2)])
@pytest.mark.parametrize("columns", [64, 176, 256])
def test_accumulators_of_wgmma_are_those_of_the_manual(
    groups: tuple[int, int], columns: int
) -> None:
    shape = (64 * groups[0], columns * groups[1])
    plan = GemmPlan("wgmma", (4 * groups[0], groups[1]), (64, columns, 16))
    table = accumulator(shape, plan)
    assert table == Table.from_fragment(wgmma_accumulator(shape, groups, columns))
    assert_formulas_hold(table)


def test_accumulators_of_mma_are_those_of_the_manual() -> None:
    table = accumulator((64, 96), GemmPlan("mma", (2, 2), (16, 8, 16)))
    assert table == Table.from_fragment(mma_accumulator((64, 96), (2, 2)))
    assert_formulas_hold(table)


def test_an_operand_in_registers_is_copied_to_all_groups_of_its_rows() -> None:
    plan = GemmPlan("wgmma", (4, 2), (64, 64, 16))
    table = operand_a((64, 64), 16, plan)
    assert table.replicas == 2
    expected = Table.from_fragment(wgmma_operand_a((64, 64), 16, (1, 2)))
    np.testing.assert_array_equal(table.owners, expected.owners)
    assert table.collision() is None


def test_a_reduction_leaves_its_results_in_all_threads_that_owned_an_element() -> None:
    rows = reduced(accumulator((64, 32), GemmPlan("wgmma", (4, 1), (64, 32, 16))), 1)
    assert (rows.shape, rows.replicas, rows.num_registers) == ((64,), 4, 2)
    assert list(rows.owners[9]) == [4, 5, 6, 7]
    assert list(rows.registers[[0, 8, 16]]) == [0, 1, 0]
    assert_formulas_hold(rows)


@given(
    st.sampled_from([32, 64, 128]),
    st.integers(1, 6),
    st.integers(1, 12),
    st.sampled_from([1, 2, 4]),
)
def test_free_layouts_hold_each_element_once_and_have_formulas(
    threads: int, rows: int, columns: int, width: int
) -> None:
    shape = (rows * 8, columns * width)
    table = Table.free(shape, threads, width)
    assert table.collision() is None
    assert table.owners.max() < threads
    if table.is_full:
        assert_formulas_hold(table)


def test_two_elements_in_one_register_are_found() -> None:
    table = Table(np.zeros((2, 2, 1), np.int64), np.array([[0, 1], [1, 2]]))
    assert table.collision() == ((0, 1), (1, 0))


def test_a_reduction_over_threads_of_uneven_rows_has_no_owner() -> None:
    with pytest.raises(NotALayout):
        reduced(Table.free((4, 100), 128, 1), 1)


@given(st.lists(st.tuples(st.integers(2, 5), st.integers(-9, 9)), min_size=1, max_size=4))
def test_digits_are_found_again(parts: list[tuple[int, int]]) -> None:
    values = np.zeros(1, np.int64)
    for radix, weight in parts:
        values = (np.arange(radix)[:, None] * weight + values[None, :]).ravel()
    found = digits(values + 3)
    assert found is not None
    indices = np.arange(len(values))
    rebuilt = sum(indices // each.divisor % each.radix * each.weight for each in found)
    np.testing.assert_array_equal(rebuilt, values)


def test_what_is_no_sum_of_digits_has_no_formula() -> None:
    assert digits(np.array([0, 1, 3, 2])) is None
    assert formula(np.array([[0, 1], [1, 3]])) is None


@given(st.integers(0, 10_000))
def test_the_first_point_whose_threads_do_not_hold_its_element(seed: int) -> None:
    rng = np.random.default_rng(seed)
    owners = rng.integers(0, 4, (3, 4, 2))
    table = Table(owners, np.arange(12).reshape(3, 4))
    elements = (rng.integers(0, 3, (2, 5)), rng.integers(0, 4, (2, 5)))
    threads = owners[elements].copy()
    if seed % 3:
        threads[rng.integers(2), rng.integers(5), 0] = rng.integers(0, 5)
    expected = next(
        (
            point
            for point in np.ndindex(2, 5)
            if not set(threads[point]) <= set(owners[tuple(each[point] for each in elements)])
        ),
        None,
    )
    assert table.first_absent(elements, threads) == expected
