"""Sizes: text, evaluation, and solving for one unknown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright import T
from tilewright.language.T.symbols import Computed, Symbol, compute, evaluate, same, solve, text

M, N = Symbol("M"), Symbol("N")


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (M + 1, "M + 1"),
        ((M + 1) * N, "(M + 1) * N"),
        (M - (N - 1), "M - (N - 1)"),
        (M // 4 % 3, "M // 4 % 3"),
        (T.ceildiv(M, 8), "ceildiv(M, 8)"),
        (T.min(M, 8), "min(M, 8)"),
        (-M, "0 - M"),
        (M * 1 + 0, "M"),
        (2 * (M << 1), "2 * (M << 1)"),
    ],
)
def test_text(size, shown):
    assert text(size) == shown


def sizes(names=("M", "N")):
    leaves = st.one_of(st.integers(1, 9), st.sampled_from([Symbol(name) for name in names]))
    operators = st.sampled_from(["+", "-", "*", "ceildiv", "min", "max"])
    return st.recursive(
        leaves, lambda inner: st.builds(compute, operators, inner, inner), max_leaves=6
    )


@given(sizes(), st.integers(1, 50), st.integers(1, 50))
def test_the_text_means_the_same_as_the_size(size, m, n):
    known = {"M": m, "N": n}
    names = {**known, "ceildiv": lambda a, b: -(-a // b), "min": min, "max": max}
    try:
        expected = eval(text(size), names)
    except ZeroDivisionError:
        return
    assert evaluate(size, known) == expected


@given(sizes(("M",)), st.integers(1, 50))
def test_what_is_solved_is_a_solution(size, m):
    try:
        number = evaluate(size, {"M": m})
    except ZeroDivisionError:
        return
    known = {}
    try:
        found = solve(size, number, known)
    except ZeroDivisionError:
        return
    assert found is not False or "M" not in text(size)
    if "M" in known:
        assert evaluate(size, known) == number


def test_what_cannot_be():
    assert solve(M * 4, 10, {}) is False
    assert solve(M + 1, 5, {"M": 3}) is False
    assert solve(8, 8, {}) is True
    assert solve(M + N, 8, {}) is None
    assert solve(M // 2, 8, {}) is None
    known = {"N": 2}
    assert solve(M + N, 8, known) is True
    assert known == {"M": 6, "N": 2}


def test_sizes_are_compared_by_what_they_say():
    assert same(M + 1, Computed("+", Symbol("M"), 1))
    assert not same(M, N)
    assert not same(M, 3)


def test_names_are_separated_by_commas_or_spaces():
    assert [symbol.name for symbol in T.dynamic("a, b c")] == ["a", "b", "c"]
    assert T.dynamic("a").name == "a"
    assert T.symbolic("a").name == "a"


def test_a_size_of_run_time_is_a_variable():
    assert isinstance(T.dynamic("m"), T.Var)
    assert not isinstance(128, T.Var)
    assert not isinstance(T.dynamic("m") + 1, T.Var)
