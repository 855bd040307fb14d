"""Arguments that are found by trying."""

from __future__ import annotations

from functools import reduce
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sampling import examples
from tilewright.analysis.alias_sync.argument_search import MAX_TRIALS, search, trips_of
from tilewright.analysis.alias_sync.symbolic_ints import (
    Assumptions,
    Root,
    SymbolicInt,
    Term,
    roots_of,
)

WORKS, TILES, CONTEXT, SHIFT = (Root("argument", name) for name in ("w", "t", "c", "s"))
PROGRAM, PROGRAMS = Root("program", 0), Root("programs", 0)
WORD = Root("data", "word")


def term(op: str, *args: SymbolicInt) -> SymbolicInt:
    return Term(op, args)


def rounds() -> SymbolicInt:
    """Tiles of a program where every other round goes backwards."""
    full = term("div", WORKS, PROGRAMS)
    backwards = term("sub", term("sub", PROGRAMS, 1), PROGRAM)
    is_even = term("eq", term("rem", full, 2), 0)
    place = term("add", term("mul", full, PROGRAMS), term("select", is_even, PROGRAM, backwards))
    return term("add", full, term("lt", place, WORKS))


def blocks(work: SymbolicInt) -> SymbolicInt:
    """Blocks of keys that a tile of queries sees."""
    place = term("sub", term("sub", TILES, 1), term("rem", work, TILES))
    first = term("sub", term("mul", place, 128), SHIFT)
    seen = term("min", term("add", first, 128), CONTEXT)
    return term("div", term("add", seen, 63), 64)


@pytest.mark.parametrize("wanted", [1, 2, 5])
def test_rounds_of_a_persistent_kernel(wanted: int) -> None:
    assert not Assumptions().require(rounds(), wanted, wanted), "or there is no need to search"
    found = search(Assumptions(), (0, rounds(), 1), wanted)
    assert found == {WORKS: wanted, PROGRAMS: 1, PROGRAM: 0}


@pytest.mark.parametrize(
    ("wanted", "tiles", "context"), [(1, 1, 1), (2, 1, 128), (3, 2, 192), (5, 3, 320)]
)
def test_offsets_are_zero_and_sizes_small(wanted: int, tiles: int, context: int) -> None:
    found = search(Assumptions(), (0, blocks(0), 1), wanted)
    assert found == {TILES: tiles, CONTEXT: context, SHIFT: 0}


def test_what_is_chosen_stays() -> None:
    numbers = Assumptions({CONTEXT: 192, SHIFT: 0})
    assert search(numbers, (0, blocks(0), 1), 3) == {TILES: 2}
    assert search(numbers, (0, blocks(0), 1), 4) is None, "there are 3"
    assert numbers.known == {CONTEXT: 192, SHIFT: 0}


def test_bounds_that_hang_together() -> None:
    """From an argument to twice as much."""
    assert search(Assumptions(), (CONTEXT, term("mul", CONTEXT, 2), 1), 3) == {CONTEXT: 3}


def test_loops_that_cannot_run_as_often_run_at_all() -> None:
    """There is at most one block that the first half of a tile does not see."""
    passed_over = (0, term("lt", 64 * 4, CONTEXT), 1)
    bounds = (0, blocks(0), 1)
    assert search(Assumptions(), passed_over, 5) is None
    assert search(Assumptions(), bounds, 5) == {TILES: 3, CONTEXT: 320, SHIFT: 0}
    tall = (0, term("lt", 320, CONTEXT), 1)
    assert search(Assumptions(), bounds, 5, [tall]) == {TILES: 3, CONTEXT: 384, SHIFT: 64}
    never = (0, term("lt", CONTEXT, 0), 1)
    assert search(Assumptions(), bounds, 5, [never]) == {TILES: 3, CONTEXT: 320, SHIFT: 0}


def test_programs_that_share_turns_are_one() -> None:
    bounds = (0, term("sub", PROGRAMS, 1), 1)
    assert search(Assumptions(), bounds, 3) == {PROGRAMS: 4}
    assert search(Assumptions(is_persistent=True), bounds, 3) is None


def test_data_is_not_chosen() -> None:
    assert search(Assumptions(), (0, term("min", WORD, WORKS), 1), 1) is None


@pytest.mark.parametrize("step", [0, -1, WORKS])
def test_a_step_forward_is_needed(step: SymbolicInt) -> None:
    assert trips_of(Assumptions(), (0, 4, step)) is None


def test_many_arguments_are_not_tried_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = [Root("argument", index) for index in range(5)]
    tried = 0

    def count(numbers: Assumptions, bounds: object) -> None:
        nonlocal tried
        tried += 1

    monkeypatch.setattr("tilewright.analysis.alias_sync.argument_search.trips_of", count)
    every = reduce(lambda one, other: term("mul", one, other), sizes, term("mul", 64, 96))
    assert search(Assumptions(), (0, every, 1), 13) is None
    assert 100 < tried <= MAX_TRIALS


_SCALED = st.builds(
    term,
    st.sampled_from(["mul", "div", "rem", "min", "max"]),
    st.sampled_from([TILES, CONTEXT]),
    st.one_of(st.sampled_from([TILES, CONTEXT]), st.integers(1, 8)),
)
_TERMS = st.recursive(
    _SCALED,
    lambda parts: st.builds(term, st.sampled_from(["add", "sub", "mul", "min"]), parts, parts),
    max_leaves=3,
)


@settings(max_examples=examples(60), deadline=None)
@given(_TERMS, st.integers(1, 4))
def test_small_counts_are_found_wherever_there_are_any(high: SymbolicInt, wanted: int) -> None:
    bounds = (0, high, 1)
    found = search(Assumptions(), bounds, wanted)
    if found is not None:
        assert set(found) == set(roots_of(high))
        assert trips_of(Assumptions(found), bounds) == wanted
        return
    for tiles, context in product(range(1, wanted + 1), repeat=2):
        assert trips_of(Assumptions({TILES: tiles, CONTEXT: context}), bounds) != wanted
