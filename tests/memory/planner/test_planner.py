"""Plans by example: what may share, what may not, what is proved, and what is refused."""

import pytest

from tilewright.memory.planner import (
    Apart,
    AsyncRegion,
    Block,
    DoesNotFit,
    Effort,
    Inside,
    MayOverlap,
    Plan,
    PlannerFault,
    Problem,
    ProblemError,
    Relation,
    SameStart,
    Space,
    plan_problem,
    planner,
)
from tilewright.memory.planner.check import PlanViolation, Violation

EARLY, LATE, WHOLE = ((0, 2),), ((2, 4),), ((0, 4),)
SMEM = Space("smem", 64)


def plan(*parts: Block | Relation) -> Plan:
    blocks = tuple(part for part in parts if isinstance(part, Block))
    relations = tuple(part for part in parts if not isinstance(part, Block))
    return plan_problem(Problem((SMEM,), blocks, relations), "max")


def height(*parts: Block | Relation) -> int:
    found = plan(*parts)
    assert found.optimal
    return found.height("smem")


def test_nothing_to_place():
    assert plan().offsets == {}
    assert height() == 0
    assert plan(Block("a", 0), Block("b", 0)).offsets == {"a": 0, "b": 0}


def test_lifetimes_decide():
    assert height(Block("a", 8, live=EARLY), Block("b", 8, live=LATE)) == 8
    assert height(Block("a", 8, live=EARLY), Block("b", 8, live=WHOLE)) == 16
    assert height(Block("a", 8, live=((0, 1), (3, 4))), Block("b", 8, live=((1, 3),))) == 8
    assert height(Block("a", 8, live=()), Block("b", 8)) == 8


def test_relations_decide():
    early, late = Block("a", 8, live=EARLY), Block("b", 8, live=LATE)
    assert height(early, late, Apart("a", "b")) == 16
    both = Block("a", 8), Block("b", 8)
    assert height(*both) == 16
    assert height(*both, MayOverlap("a", "b")) == 8
    assert height(*both, SameStart("a", "b")) == 8
    assert height(*both, Inside("b", "a")) == 8
    assert height(*both, MayOverlap("a", "b"), Apart("a", "b")) == 16


def test_partitions_that_run_at_the_same_time_never_share():
    one = Block("a", 8, live=EARLY, region=AsyncRegion("ws", 0))
    assert height(one, Block("b", 8, live=LATE, region=AsyncRegion("ws", 1))) == 16
    assert height(one, Block("b", 8, live=LATE, region=AsyncRegion("ws", 0))) == 8
    assert height(one, Block("b", 8, live=LATE, region=AsyncRegion("other", 1))) == 8


def test_heights_are_not_rounded():
    assert height(Block("a", 520, 128)) == 520
    assert height(Block("a", 520, 128), Block("b", 640, 128)) == 640 + 520


def test_a_step_that_divides_no_alignment_is_not_taken():
    # b at 8..20, then a at 21, a multiple of 3; on a grid of 4 it would have to be 24.
    found = plan(
        Block("p", 4, fixed=4), Block("q", 4, fixed=0), Block("a", 12, 3), Block("b", 12, 8)
    )
    assert found.height("smem") == 33
    assert height(Block("x", 8, fixed=0), Block("a", 12, 3)) == 21


def test_fixed_blocks_are_worked_around():
    found = plan(Block("f", 4, fixed=6), Block("a", 6), Block("b", 7, 2))
    assert found.offsets == {"f": 6, "a": 0, "b": 10}
    assert found.height("smem") == 17
    assert height(Block("f", 4, fixed=6), Block("a", 8, live=())) == 10


def test_children_move_with_their_parent():
    found = plan(
        Block("p", 16, live=EARLY),
        Block("c", 4, 8, live=EARLY),
        Block("d", 4, 8, live=EARLY),
        Inside("c", "p"),
        Inside("d", "p"),
        Apart("c", "d"),
        Block("x", 8, live=WHOLE, fixed=0),
    )
    start = found.offsets["p"]
    assert start == 8
    assert sorted(found.offsets[id] - start for id in "cd") == [0, 8]
    assert found.height("smem") == 24


def test_tied_blocks_may_come_apart_where_that_is_lower():
    # b and c start together, but only c is in x's way: x fits over b.
    parts = (
        Block("b", 10, live=EARLY),
        Block("c", 2, live=LATE),
        Block("x", 8, live=LATE),
        SameStart("b", "c"),
    )
    assert height(*parts) == 10


def test_spaces_are_planned_apart():
    problem = Problem(
        (Space("smem", 64), Space("tmem", 512, unit="columns")),
        (Block("a", 8), Block("b", 8), Block("t", 128, space="tmem"), Block("u", 64, space="tmem")),
    )
    found = plan_problem(problem)
    assert (found.height("smem"), found.height("tmem")) == (16, 192)
    with pytest.raises(KeyError):
        found.of("local")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((Block("a", 8, fixed=0), Block("b", 8, fixed=4)), "'a' is fixed at 0 and 'b' at 4, but they must not overlap"),
        ((Block("a", 8), Block("b", 8), SameStart("a", "b"), Apart("a", "b")), "no arrangement satisfies: 'a' starts with 'b'; 'a' apart from 'b'"),
        ((Block("a", 8), Block("b", 4, 4), Inside("b", "a", 2), Block("c", 8, 4), SameStart("a", "c")), "no arrangement satisfies: 'b' inside 'a' at 2; 'a' starts with 'c'; 'b' aligned to 4; 'c' aligned to 4"),
        ((Block("a", 4), Block("b", 16), Inside("a", "b", 4), Inside("a", "b", 8)), "no arrangement satisfies: 'a' inside 'b' at 4; 'a' inside 'b' at 8"),
        ((Block("a", 4, fixed=0), Block("b", 4, fixed=8), SameStart("a", "b")), "no arrangement satisfies: 'a' starts with 'b'; 'a' fixed at 0; 'b' fixed at 8"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused(parts: tuple[Block | Relation, ...], message: str):
    with pytest.raises(ProblemError) as caught:
        plan(*parts)
    assert str(caught.value) == message


def test_a_plan_that_does_not_fit_says_so():
    found = plan(Block("a", 40), Block("b", 30))
    assert not found.fits
    assert found.of("smem").missing == 6
    assert str(found).splitlines() == [
        "smem: 70 of 64 bytes, optimal, 6 too many (first fit by size)",
        "  0..40  a: 40 in smem, live always",
        "  40..70  b: 30 in smem, live always",
    ]
    with pytest.raises(DoesNotFit, match="6 too many"):
        found.require_fit()
    assert plan(Block("a", 64)).require_fit().fits


HARD = tuple(
    Block(f"b{n}", size, live=((start, end),))
    for n, (size, start, end) in enumerate(
        [(4, 0, 3), (4, 3, 9), (4, 9, 21), (4, 0, 9), (4, 9, 18), (4, 18, 21), (3, 3, 18)]
    )
)


def test_a_gap_is_reported_when_the_effort_ends():
    blocks = tuple(
        Block(f"b{n}", 3 + n * 7 % 11, live=((n * 5 % 17, n * 5 % 17 + 4 + n % 6),))
        for n in range(40)
    )
    problem = Problem((Space("smem"),), blocks)
    quick = plan_problem(problem, Effort(nodes=0)).of("smem")
    longer = plan_problem(problem, Effort(nodes=3000)).of("smem")
    assert quick.lower_bound <= longer.lower_bound <= longer.height <= quick.height
    assert quick.nodes == 0
    assert longer.nodes <= 3100
    assert quick.gap == (quick.height - quick.lower_bound) / quick.lower_bound
    assert longer.nodes_to_best <= longer.nodes


def test_seconds_end_a_search():
    found = plan_problem(Problem((Space("smem"),), HARD), Effort(seconds=0.0)).of("smem")
    assert found.height >= found.lower_bound == 11


@pytest.mark.parametrize(
    ("effort", "message"),
    [
        ("hard", "unknown effort 'hard'; known: default, max, or an Effort"),
        (Effort(backend="gpu"), "unknown backend 'gpu'; known: auto, python, numba"),
    ],
)
def test_unknown_efforts_are_refused(effort: Effort | str, message: str):
    # Sizes whose quick plans miss the bound, so that a search is started.
    blocks = tuple(
        Block(f"b{n}", 3 + n * 7 % 11, live=((n * 5 % 17, n * 5 % 17 + 4 + n % 6),))
        for n in range(40)
    )
    with pytest.raises(ValueError, match="unknown") as caught:
        plan_problem(Problem((Space("smem"),), blocks), effort)
    assert str(caught.value) == message


def test_the_checker_has_the_last_word(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object) -> tuple[Violation, ...]:
        return (Violation(PlanViolation.OVERLAP, "a and b"),)

    monkeypatch.setattr(planner.planner_check, "check_offsets", refuse)
    with pytest.raises(PlannerFault, match="overlap: a and b"):
        plan(Block("a", 8))


def test_offsets_cannot_be_changed():
    with pytest.raises(TypeError):
        plan(Block("a", 8)).offsets["a"] = 4  # type: ignore[index]
