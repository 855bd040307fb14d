"""Numbers over arguments, and arguments for which loops are short."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.analysis.alias_sync.symbolic_ints import (
    DEFAULTS,
    Assumptions,
    Root,
    SymbolicInt,
    Term,
    apply,
    roots_of,
)

K, N = Root("argument", "K"), Root("argument", "N")
PROGRAM, PROGRAMS = Root("program", 0), Root("programs", 0)
WORD = Root("data", "word")


def made(known: Assumptions, op: str, *args: SymbolicInt) -> SymbolicInt:
    found = known.make(op, *args)
    assert found is not None
    return found


def blocks(known: Assumptions, size: SymbolicInt, block: int) -> SymbolicInt:
    return made(known, "div", made(known, "add", size, block - 1), block)


@pytest.mark.parametrize(
    ("op", "values", "expected"),
    [
        ("add", (3, 4), 7),
        ("sub", (3, 4), -1),
        ("div", (-7, 2), -3),
        ("rem", (-7, 2), -1),
        ("floordiv", (-7, 2), -4),
        ("ceildiv", (7, 2), 4),
        ("xor", (5, 1), 4),
        ("shl", (3, 2), 12),
        ("select", (1, 5, 6), 5),
        ("select", (0, 5, 6), 6),
        ("lt", (1, 2), 1),
        ("ge", (1, 2), 0),
        ("div", (1, 0), None),
        ("shl", (1, 64), None),
    ],
)
def test_operations(op: str, values: tuple[int, ...], expected: int | None) -> None:
    assert apply(op, values) == expected


@pytest.mark.parametrize("trips", [0, 1, 2, 5, 9])
def test_a_loop_over_blocks_runs_as_often_as_asked(trips: int) -> None:
    known = Assumptions()
    steps = blocks(known, K, 64)
    assert known.trip_count(0, steps, 1, trips) == trips
    assert known.known[K] == trips * 64
    assert known.trip_count(0, K, 64, 3) == trips, "the other task has the same K"


def test_a_persistent_loop_divides_tiles_among_programs() -> None:
    known = Assumptions()
    tiles = made(known, "mul", blocks(known, K, 128), blocks(known, N, 64))
    assert known.trip_count(PROGRAM, tiles, PROGRAMS, 5) == 5
    assert (known.known[PROGRAM], known.known[PROGRAMS]) == (0, 1)


def test_a_causal_loop_picks_a_tile_far_enough_down() -> None:
    known = Assumptions()
    rows = made(known, "mul", made(known, "add", PROGRAM, 1), 128)
    last = made(known, "min", rows, K)
    assert known.trip_count(0, last, 64, 5) == 5
    assert known.known[PROGRAM] >= 2


def test_words_of_memory_can_be_sizes_but_decide_nothing() -> None:
    known = Assumptions()
    rows = made(known, "sub", Root("data", "end"), WORD)
    assert known.value_or_default(rows) is None
    assert known.trip_count(0, blocks(known, rows, 64), 1, 2) == 2
    assert known.value_or_default(rows) == 128


def test_bounds_that_cannot_be_solved_run_as_asked_for_everyone() -> None:
    known = Assumptions()
    odd = Term("xor", (WORD, 3))
    assert known.trip_count(0, odd, 1, 4) == 4
    assert known.trip_count(0, odd, 1, 9) == 4


def test_known_bounds_are_kept() -> None:
    known = Assumptions()
    assert known.trip_count(2, 11, 3, 7) == 3
    assert known.trip_count(5, 2, 1, 7) == 0
    assert known.trip_count(0, 4, -1, 7) is None


def test_what_is_open_gets_its_default_once() -> None:
    known = Assumptions()
    assert known.value_or_default(made(known, "add", K, PROGRAM)) == DEFAULTS["argument"]
    assert known.known == {K: DEFAULTS["argument"], PROGRAM: 0}


def test_a_plan_forgets_defaults_and_keeps_choices() -> None:
    plan = Assumptions(is_plan=True)
    assert plan.value_or_default(made(plan, "gt", blocks(plan, K, 64), 1)) == 1
    assert plan.known == {}
    plan.trip_count(0, blocks(plan, K, 64), 1, 5)
    assert plan.known == {K: 320}


def test_equal_addresses_are_equal_terms() -> None:
    known = Assumptions()
    once = made(known, "add", WORD, 2)
    assert made(known, "add", made(known, "add", WORD, 1), 1) == once
    assert made(known, "add", WORD, 0) == WORD


def test_a_failed_choice_changes_nothing() -> None:
    known = Assumptions()
    assert not known.require(made(known, "mul", K, 64), 65, 127)
    assert known.known == {}
    assert not known.require(Term("xor", (K, 1)), 0, 9)


@given(
    st.integers(1, 6),
    st.integers(0, 12),
    st.sampled_from(["div", "ceildiv", "mul", "add", "sub", "min", "max"]),
    st.integers(1, 9),
)
def test_what_is_wanted_is_had(outer: int, value: int, op: str, operand: int) -> None:
    """Whenever a choice is made, the number is in the range."""
    known = Assumptions()
    inner = made(known, op, K, operand)
    number = made(known, "add", inner, outer)
    if known.require(number, value, value + 2):
        found = known.value(number)
        assert found is not None
        assert value <= found <= value + 2
        assert roots_of(number) == [K]
    else:
        assert known.known == {}
