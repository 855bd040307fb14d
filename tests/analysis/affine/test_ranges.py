"""Intervals hold every result, and no more than they must, on all small cases."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.analysis.affine.ranges import ALL, Interval

SMALL = [Interval(lo, hi) for lo in range(-4, 5) for hi in range(lo, 5)]


def members(interval: Interval) -> range:
    return range(interval.lo, interval.hi + 1)


def exact(values) -> Interval:
    values = list(values)
    return Interval(min(values), max(values))


@pytest.mark.parametrize(
    "operation", [Interval.__add__, Interval.__sub__, Interval.__mul__, Interval.hull]
)
def test_binary_operations_are_exact_on_small_intervals(operation):
    plain = {
        Interval.__add__: lambda x, y: x + y,
        Interval.__sub__: lambda x, y: x - y,
        Interval.__mul__: lambda x, y: x * y,
    }
    for a, b in product(SMALL, SMALL):
        if operation is Interval.hull:
            expected = exact([*members(a), *members(b)])
        else:
            expected = exact(plain[operation](x, y) for x in members(a) for y in members(b))
        assert operation(a, b) == expected


def test_division_by_a_positive_interval_is_exact():
    for a, b in product(SMALL, SMALL):
        if b.lo > 0:
            quotients = [x // y for x in members(a) for y in members(b)]
            assert a.floor_div(b) == exact(quotients)
            remainders = exact(x % y for x in members(a) for y in members(b))
            assert a.floor_mod(b).contains(remainders)


@pytest.mark.parametrize("divisor", [Interval(0, 3), Interval(-2, 2), Interval(None, 5), ALL])
def test_division_refuses_a_divisor_that_may_not_be_positive(divisor):
    with pytest.raises(ValueError, match="positive"):
        Interval(1, 2).floor_div(divisor)
    with pytest.raises(ValueError, match="positive"):
        Interval(1, 2).floor_mod(divisor)


def test_powers_negation_and_scaling():
    for a in SMALL:
        assert a.power(2).contains(exact(x * x for x in members(a)))
        assert a.power(2).lo >= 0
        assert a.power(3).contains(exact(x**3 for x in members(a)))
        assert -a == exact(-x for x in members(a))
        for factor in (-3, 0, 2):
            assert a.scaled(factor) == exact(factor * x for x in members(a))


bounds = st.one_of(st.none(), st.integers(-(2**80), 2**80))


@st.composite
def intervals_with_member(draw):
    value = draw(st.integers(-(2**80), 2**80))
    lo, hi = draw(bounds), draw(bounds)
    return Interval(
        None if lo is None else min(lo, value), None if hi is None else max(hi, value)
    ), value


@given(intervals_with_member(), intervals_with_member())
def test_results_of_members_are_members_also_without_bounds(first, second):
    (a, x), (b, y) = first, second
    assert x + y in a + b
    assert x - y in a - b
    assert x * y in a * b
    assert x in a.hull(b)
    assert y in a.hull(b)
    assert -x in -a
    assert x * x in a.power(2)
    positive = Interval(max(1, b.lo or 1), None if b.hi is None else max(1, b.hi))
    if y in positive:
        assert x // y in a.floor_div(positive)
        assert x % y in a.floor_mod(positive)


def test_infinite_times_zero_is_zero():
    assert Interval(0, None) * Interval(0, 0) == Interval(0, 0)
    assert Interval(0, None) * Interval(0, None) == Interval(0, None)
    assert ALL * Interval(1, 1) == ALL
    assert Interval(None, -1) * Interval(2, None) == Interval(None, -2)


def test_meet_contains_and_sizes():
    assert Interval(0, 5).meet(Interval(3, None)) == Interval(3, 5)
    assert Interval(0, 5).meet(Interval(6, None)) is None
    assert Interval(0, 5).narrowed(Interval(6, None)) == Interval(0, 5)
    assert ALL.contains(Interval(0, 5))
    assert not Interval(0, 5).contains(ALL)
    assert Interval(0, None).contains(Interval(2, 3))
    assert Interval(2, 9).size == 8
    assert ALL.size is None
    assert Interval(7, 7).constant == 7
    assert Interval(7, 8).constant is None
    assert Interval.of_bits(8) == Interval(-128, 127)
    assert Interval.of_bits(8, signed=False) == Interval(0, 255)


def test_an_empty_interval_cannot_be_made():
    with pytest.raises(ValueError, match="empty"):
        Interval(1, 0)


def test_text():
    assert str(Interval(0, None)) == "[0, inf]"
    assert str(Interval(None, -1)) == "[-inf, -1]"
