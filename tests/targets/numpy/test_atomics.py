"""Atomic updates of many lanes against lane after lane in plain Python."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import examples
from tests.targets.numpy.memory_support import COMBINE, memory_of, site
from tilewright.targets.numpy import atomics
from tilewright.targets.numpy.atomics import Typed, compare_and_swap, fetch_update, update

INTEGERS = [np.int8, np.int16, np.int32, np.int64]
FLOATS = [np.float16, np.float32, np.float64, ml_dtypes.bfloat16]
CASES = [
    *[(kind, dtype) for kind in COMBINE if kind != "fadd" for dtype in INTEGERS],
    *[(kind, dtype) for kind in ("add", "fadd", "exch") for dtype in FLOATS],
]


def one_by_one(kind, table, index, values):
    """The table afterwards, and what each lane found."""
    table, found = table.copy(), values.copy()
    with np.errstate(all="ignore"):
        for lane, (place, value) in enumerate(zip(index, values, strict=True)):
            found[lane] = table[place]
            table[place] = COMBINE[kind](table[place], value)
    return table, found


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(f"u{array.itemsize}")


@st.composite
def lanes(draw, dtype):
    count, size = draw(st.integers(1, 40)), draw(st.integers(1, 12))
    index = np.array(draw(st.lists(st.integers(0, size - 1), min_size=count, max_size=count)))
    seed = draw(st.integers(0, 2**16))
    random = np.random.default_rng(seed)
    scale = draw(st.sampled_from([1, 1000]))
    numbers = random.normal(size=count + size) * scale
    if np.dtype(dtype).kind == "i":
        numbers = numbers.astype(np.int64)
    numbers = numbers.astype(dtype)
    return numbers[:size], index, numbers[size:]


@pytest.mark.parametrize(("kind", "dtype"), CASES)
@settings(max_examples=examples(25))
@given(data=st.data())
def test_lanes_follow_each_other(kind: str, dtype, data):
    before, index, values = data.draw(lanes(dtype))
    expected, found = one_by_one(kind, before, index, values)
    without = before.copy()
    update(kind, Typed(bits(without), without.dtype), index, bits(values))
    assert without.tobytes() == expected.tobytes()
    fetched = before.copy()
    old = fetch_update(kind, Typed(bits(fetched), fetched.dtype), index, bits(values))
    assert fetched.tobytes() == expected.tobytes()
    assert old.tobytes() == found.tobytes()


@given(data=st.data())
def test_swaps_follow_each_other(data):
    before, index, values = data.draw(lanes(np.int16))
    compare = data.draw(st.sampled_from([before[0], values[0], values[-1]])) + 0 * values
    expected, found = before.copy(), values.copy()
    for lane, place in enumerate(index):
        found[lane] = expected[place]
        if expected[place] == compare[lane]:
            expected[place] = values[lane]
    table = before.copy()
    old = compare_and_swap(bits(table), index, bits(compare), bits(values))
    assert table.tobytes() == expected.tobytes()
    assert old.view(np.int16).tolist() == found.tolist()


def test_a_swap_compares_bits():
    """-0.0 is not 0.0, and a NaN is itself."""
    table = np.array([-0.0, np.nan], np.float32)
    memory = memory_of([site("atomic_cas", "f4", (2,))], table)
    address = (memory.address_of(0), np.array([[0, 4]]))
    old = memory.atomic_cas(
        0, address, np.array([[0.0, np.nan]], np.float32), np.ones((1, 1), np.float32)
    )
    assert bits(old).tolist() == [bits(np.array([-0.0, np.nan], np.float32)).tolist()]
    assert table.tolist() == [0.0, 1.0]
    assert np.signbit(table[0])


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_small_floats_round_at_every_step(dtype):
    """Adding 1 to 2048 again and again changes nothing in fp16: there is no number in between."""
    start = 2048 if dtype == np.float16 else 256
    table = np.array([start], dtype)
    memory = memory_of([site("atomic_rmw", dtype, (8,), rmw="fadd", result_used=False)], table)
    address = (memory.address_of(0), np.zeros((1, 8), np.int64))
    memory.atomic_rmw(0, address, np.ones((1, 8), dtype), ())
    assert float(table[0]) == start


def test_every_program_updates_what_all_of_them_address():
    table = np.zeros(1, np.int32)
    memory = memory_of([site("atomic_rmw", "i4", rmw="add")], table, grid=(5, 1, 1))
    old = memory.atomic_rmw(0, (memory.address_of(0),), np.int32(3), ())
    assert old.tolist() == [0, 3, 6, 9, 12]
    assert table.tolist() == [15]


def test_masked_and_inactive_lanes_do_nothing():
    table = np.zeros(4, np.int32)
    rmw = site("atomic_rmw", "i4", (4,), rmw="add")
    memory = memory_of([rmw], table, grid=(2, 1, 1))
    memory.active = np.array([False, True])
    address = (memory.address_of(0), np.array([[0, 4, 8, 4000]]))
    mask = (np.array([[True, False, True, False]]),)
    old = memory.atomic_rmw(0, address, np.full((1, 1), 2, np.int32), mask)
    assert table.tolist() == [2, 0, 2, 0]
    assert old.tolist() == [[0, 0, 0, 0]] * 2


def test_one_step_per_element_or_per_lane_whichever_is_less(monkeypatch):
    """A thousand lanes on one element, and one lane on each of a thousand, are one step each."""
    steps = []
    accumulate, rounds = atomics._accumulate, atomics._Sharing.round
    monkeypatch.setattr(
        atomics, "_accumulate", lambda *all: steps.append("all") or accumulate(*all)
    )
    monkeypatch.setattr(
        atomics._Sharing, "round", lambda *all: steps.append("round") or rounds(*all)
    )
    ones = np.ones(1000, np.uint32)
    for index in np.zeros(1000, np.int64), np.arange(1000):
        table = np.zeros(1000, np.uint32)
        fetch_update("add", Typed(table, np.dtype(np.int32)), index, ones)
        assert table.sum() == 1000
    assert steps == ["all", "round"]


@pytest.mark.parametrize(
    ("kind", "dtype"), [("inc", "int32"), ("fadd", "int32"), ("dec", "float32")]
)
def test_an_update_that_does_not_exist_is_refused(kind: str, dtype: str):
    table = np.zeros(1, np.uint32)
    with pytest.raises(ValueError, match=f"atomic {kind} is not defined for {dtype}"):
        update(kind, Typed(table, np.dtype(dtype)), np.array([0]), table)


def test_the_value_wins_over_a_nan():
    table = np.array([np.nan, 1.0], np.float32)
    values = np.array([2.0, np.nan], np.float32)
    update("max", Typed(bits(table), table.dtype), np.array([0, 1]), bits(values))
    assert table.tolist() == [2.0, 1.0]


@pytest.mark.parametrize("broken", ["unstable", "last"])
def test_the_order_of_lanes_matters(monkeypatch, broken: str):
    """The test above would see lanes out of order."""
    index, values = np.array([0, 1, 0, 0, 1]), np.array([5, 6, 7, 8, 9], np.int32)
    before = np.zeros(2, np.int32)
    expected = one_by_one("exch", before, index, values)[1]
    old = fetch_update("exch", Typed(bits(before.copy()), before.dtype), index, bits(values))
    assert old.view(np.int32).tolist() == expected.tolist()
    plain = atomics._Sharing.round
    if broken == "unstable":
        monkeypatch.setattr(
            atomics._Sharing, "of", classmethod(lambda cls, index: _reversed(cls, index))
        )
    else:
        monkeypatch.setattr(
            atomics._Sharing, "round", lambda self, number: plain(self, number)[::-1][:1]
        )
    old = fetch_update("exch", Typed(bits(before.copy()), before.dtype), index, bits(values))
    assert old.view(np.int32).tolist() != expected.tolist()


def _reversed(cls, index):
    order = np.argsort(index[::-1], kind="stable")
    order = len(index) - 1 - order
    begins = np.flatnonzero(np.diff(index[order], prepend=-1))
    return cls(order, begins, np.diff(begins, append=len(index)))
