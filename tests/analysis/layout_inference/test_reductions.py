"""How threads reduce what they hold, checked by doing it with numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import examples
from tilewright.analysis.layout_inference.reductions import Reduction, plan
from tilewright.analysis.layout_inference.table import NotALayout, Table, reduced


def totals(found: Reduction, source: Table, values: np.ndarray, threads: int) -> np.ndarray:
    """What each thread has in each register of the result, from the formulas alone."""
    held = np.full((threads, source.num_registers), -(10**9), dtype=np.int64)
    for point in np.ndindex(source.shape):
        held[source.owners[point], source.registers[point]] = values[point]
    thread, register = np.indices(held.shape)
    for text, limit in found.limits:
        held = np.where(np.asarray(text.evaluate((thread, register))) < limit, held, 0)
    result = held[:, found.parts].sum(axis=-1)
    for digit in found.partners:
        index = np.arange(threads)
        start = index - index // digit.weight % digit.radix * digit.weight
        steps = start[:, None] + np.arange(digit.radix) * digit.weight
        result = result[np.minimum(steps, threads - 1)].sum(axis=1)
    return result


def check(source: Table, axis: int, threads: int) -> None:
    target = reduced(source, axis)
    values = np.random.default_rng(1).integers(1, 100, source.shape)
    found = totals(plan(source, target, axis), source, values, threads)
    expected = values.sum(axis=axis)
    for point in np.ndindex(expected.shape):
        assert (found[target.owners[point], target.registers[point]] == expected[point]).all()


@pytest.mark.parametrize(
    ("shape", "threads", "width"),
    [((7, 100), 128, 4), ((100, 100), 96, 1), ((33, 65), 160, 1), ((64, 64), 384, 4)],
)
def test_rows_that_do_not_come_out_even(shape: tuple[int, int], threads: int, width: int) -> None:
    check(Table.rows(shape, threads, width), 1, threads)


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_what_is_planned_is_right(data: st.DataObject) -> None:
    """Whatever the layout: a plan is right, or there is none."""
    shape = tuple(data.draw(st.lists(st.integers(1, 12), min_size=2, max_size=3)))
    threads = data.draw(st.sampled_from((8, 12, 16, 20, 32)))
    make = data.draw(st.sampled_from((Table.free, Table.rows)))
    axis = data.draw(st.integers(0, len(shape) - 1))
    try:
        check(make(shape, threads, 1), axis, threads)
    except NotALayout:
        return


def test_results_in_other_threads_have_no_plan() -> None:
    source = Table.rows((8, 16), 128, 1)
    with pytest.raises(NotALayout):
        plan(source, Table.everywhere((8,), 128), 1)
