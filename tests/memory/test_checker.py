"""Each fault on its own, with its text; and what the checker may not import."""

import ast
from dataclasses import replace
from pathlib import Path

import pytest

import tilewright.memory.checker as module
from tilewright.memory.checker import (
    Backing,
    Case,
    Claim,
    Guarantee,
    Pair,
    PlacementViolation,
    Span,
    Violation,
    Window,
    check,
)


def claim(
    name: str, *places: tuple[int, int], alignment: int = 1, window: Window | None = None
) -> Claim:
    spans = tuple(Span(index, start, end - start) for index, (start, end) in enumerate(places))
    return Claim(name, spans, alignment, window=window)


A = claim("a", (0, 8), (16, 24))
B = claim("b", (8, 16), (24, 32))
BACKING = Backing("r", 32)


def distinct(first: str = "a", second: str = "b") -> Pair:
    return Pair(first, second, Guarantee.DISTINCT)


def only(case: Case) -> Violation:
    (violation,) = check(case)
    return violation


def test_a_good_case():
    assert check(Case(BACKING, (A, B), (distinct(),))) == ()
    assert check(Case(BACKING, (A,))) == ()


def test_independence_of_the_planner():
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    imported = [n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom)]
    imported += [a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names]
    assert "enum" in imported
    assert [name for name in imported if name and name.startswith("tilewright")] == []


def test_distinct_buffers_that_touch():
    b = claim("b", (7, 15), (24, 32))
    found = only(Case(BACKING, (A, b), (distinct(),)))
    assert found == Violation(
        PlacementViolation.DISTINCT_OVERLAP,
        "'a'[0] (bytes 0..8) and 'b'[0] (bytes 7..15) both have bytes 7..8",
        "a",
        0,
        "b",
        0,
        7,
        8,
    )
    assert str(found) == f"distinct buffers overlap: {found.text}"


def test_distinct_counts_in_both_directions():
    b = claim("b", (7, 15), (24, 32))
    for pair in (distinct("a", "b"), distinct("b", "a")):
        assert only(Case(BACKING, (A, b), (pair,))).fault is PlacementViolation.DISTINCT_OVERLAP


def test_neighbours_do_not_touch():
    assert check(Case(BACKING, (claim("a", (0, 8)), claim("b", (8, 9))), (distinct(),))) == ()


def shared(first_per: int = 1, second_per: int = 1) -> Pair:
    return Pair("a", "b", Guarantee.SHARED, first_per, second_per)


def test_shared_buffers_may_touch_at_one_logical_index():
    b = claim("b", (0, 4), (16, 20))
    assert check(Case(BACKING, (A, b), (shared(),))) == ()


def test_shared_buffers_may_not_touch_across_logical_indices():
    b = claim("b", (16, 20), (0, 4))
    found = check(Case(BACKING, (A, b), (shared(),)))
    assert [(v.fault, v.first, v.first_index, v.second, v.second_index) for v in found] == [
        (PlacementViolation.INDEX_OVERLAP, "b", 1, "a", 0),
        (PlacementViolation.INDEX_OVERLAP, "b", 0, "a", 1),
    ]


def test_several_buffers_to_a_logical_index():
    sub = claim("b", (0, 4), (4, 8), (16, 20), (20, 24))
    assert check(Case(BACKING, (A, sub), (shared(1, 2),))) == ()
    assert {v.fault for v in check(Case(BACKING, (A, sub), (shared(1, 1),)))} == {
        PlacementViolation.INDEX_OVERLAP
    }
    assert check(Case(BACKING, (sub, A), (Pair("b", "a", Guarantee.SHARED, 2, 1),))) == ()


def test_buffers_without_a_promise_may_touch_when_that_was_said():
    over = claim("b", (0, 32))
    assert check(Case(BACKING, (A, over), (Pair("a", "b", Guarantee.FREE),))) == ()


def test_all_promises_of_a_pair_count():
    b = claim("b", (0, 4), (16, 20))
    assert (
        only(Case(BACKING, (claim("a", (0, 8)), b), (shared(), distinct()))).fault
        is PlacementViolation.DISTINCT_OVERLAP
    )


def test_two_indices_of_one_buffer():
    found = only(Case(BACKING, (claim("a", (0, 8), (4, 12)),)))
    assert (found.fault, found.text) == (
        PlacementViolation.SELF_OVERLAP,
        "'a'[0] (bytes 0..8) and 'a'[1] (bytes 4..12) both have bytes 4..8",
    )


@pytest.mark.parametrize("place", [(-1, 3), (30, 33), (40, 41), (-5, -1)])
def test_outside_of_the_backing(place: tuple[int, int]):
    found = only(Case(BACKING, (claim("a", place),)))
    assert found.fault is PlacementViolation.OUTSIDE_BACKING
    assert found.text == f"'a'[0] (bytes {place[0]}..{place[1]}) is not inside 'r', 0..32"


def test_outside_of_the_window():
    inside = claim("a", (0, 8), (8, 16), (16, 24), window=Window(16, 2))
    assert check(Case(BACKING, (inside,))) == ()
    outside = claim("a", (0, 8), (12, 20), (20, 28), window=Window(16, 2))
    found = only(Case(BACKING, (outside,)))
    assert (found.fault, found.text) == (
        PlacementViolation.OUTSIDE_WINDOW,
        "'a'[1] (bytes 12..20) is not inside logical index 0, 0..16",
    )


def test_alignment():
    backing = replace(BACKING, alignment=16)
    assert check(Case(backing, (claim("a", (0, 4), (8, 12), alignment=8),))) == ()
    found = only(Case(backing, (claim("a", (0, 4), (4, 8), alignment=8),)))
    assert (found.fault, found.text) == (
        PlacementViolation.MISALIGNED,
        "'a'[1] (bytes 4..8) has to start at a multiple of 8",
    )


def test_alignment_counts_from_the_base():
    backing = replace(BACKING, alignment=16, residue=4)
    assert check(Case(backing, (claim("a", (4, 8), (12, 16), alignment=8),))) == ()
    found = only(Case(backing, (claim("a", (8, 12), alignment=8),)))
    assert found.text.endswith("a multiple of 8, with the base at 4 modulo 16")


def test_a_residue_may_be_asked_for():
    backing = replace(BACKING, alignment=16)
    odd = replace(claim("a", (4, 8), alignment=8), residue=4)
    assert check(Case(backing, (odd,))) == ()
    found = only(Case(backing, (replace(odd, residue=2),)))
    assert found.text.endswith("has to start at a multiple of 8 plus 2")


def test_an_alignment_the_base_does_not_have_cannot_be_shown():
    found = only(Case(replace(BACKING, alignment=4), (claim("a", (0, 4), alignment=8),)))
    assert (found.fault, found.text) == (
        PlacementViolation.MISALIGNED,
        "'a'[0] (bytes 0..4) has to start at a multiple of 8, but the base is only aligned to 4",
    )


def test_capacity():
    assert check(Case(replace(BACKING, capacity=32), (A,))) == ()
    found = only(Case(replace(BACKING, capacity=31, unit_name="columns"), (A,)))
    assert (found.fault, found.text, found.low, found.high) == (
        PlacementViolation.OVER_CAPACITY,
        "'r' needs 32 columns, 31 available",
        31,
        32,
    )


@pytest.mark.parametrize(
    ("case", "text"),
    [
        (Case(BACKING, (A, A)), "'a' is claimed 2 times"),
        (Case(BACKING, (Claim("a", ()),)), "'a' does not list its indices from 0"),
        (Case(BACKING, (Claim("a", (Span(1, 0, 4),)),)), "'a' does not list its indices from 0"),
        (Case(BACKING, (Claim("a", (Span(0, 4, 0),)),)), "'a'[0] has length 0"),
        (Case(BACKING, (A,), (distinct("a", "x"),)), "unknown pair 'a' and 'x'"),
        (Case(BACKING, (A,), (distinct("a", "a"),)), "unknown pair 'a' and 'a'"),
        (Case(BACKING, (A, B), (shared(0, 1),)), "'a' and 'b' share by no index"),
        (Case(BACKING, (A, B)), "no relation is stated for 'a' and 'b'"),
        (Case(BACKING, (replace(A, alignment=0),)), "alignment, stride or count 0 is not positive"),
        (
            Case(BACKING, (replace(A, window=Window(0)),)),
            "alignment, stride or count 0 is not positive",
        ),
    ],
)
def test_malformed_cases(case: Case, text: str):
    found = only(case)
    assert (found.fault, found.text) == (PlacementViolation.MALFORMED, text)


def test_everything_wrong_is_reported_at_once():
    a, b = claim("a", (0, 8), (4, 12), alignment=8), claim("b", (6, 40))
    found = check(Case(replace(BACKING, capacity=8), (a, b), (distinct(),)))
    assert {v.fault for v in found} == {
        PlacementViolation.OVER_CAPACITY,
        PlacementViolation.OUTSIDE_BACKING,
        PlacementViolation.MISALIGNED,
        PlacementViolation.SELF_OVERLAP,
        PlacementViolation.DISTINCT_OVERLAP,
    }
