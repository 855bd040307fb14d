"""The least height, by the planner and by trying everything."""

import random
from dataclasses import replace

import pytest

from tests.memory.planner.exhaustive import fits_within, least_height
from tests.memory.planner.random_problems import random_problem
from tilewright.memory.planner import (
    Apart,
    Block,
    Problem,
    ProblemError,
    SameStart,
    Space,
    plan_problem,
)

HIGH = 80
"""Above any height these small problems need."""


def assert_least(problem: Problem) -> bool:
    """Whether there is a plan at all; if so, that the planner's is the lowest one."""
    try:
        plan = plan_problem(problem, "max")
    except ProblemError:
        assert not fits_within(problem, HIGH)
        return False
    one = plan.of("smem")
    assert one.optimal
    assert fits_within(problem, one.height)
    assert one.height == 0 or not fits_within(problem, one.height - 1)
    return True


def assert_all_least(seeds: range, most: int, ties: bool) -> None:
    planned = 0
    for seed in seeds:
        rng = random.Random(seed)
        scale = 1 if ties else rng.choice([1, 1, 3, 7])
        planned += assert_least(random_problem(rng, most, ties=ties, scale=scale))
    assert planned > len(seeds) / 2


def test_up_to_seven_blocks():
    assert_all_least(range(250), 7, ties=False)


def test_up_to_four_tied_blocks():
    assert_all_least(range(60), 4, ties=True)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10_000, 14_000, 1000))
def test_many_up_to_seven_blocks(start: int):
    assert_all_least(range(start, start + 1000), 7, ties=False)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(10_000, 11_000, 250))
def test_many_up_to_four_tied_blocks(start: int):
    assert_all_least(range(start, start + 250), 4, ties=True)


@pytest.mark.parametrize("effort", ["default", "max"])
def test_a_small_budget_never_claims_too_much(effort: str):
    for seed in range(300, 420):
        problem = random_problem(random.Random(seed), 6)
        try:
            one = plan_problem(problem, effort).of("smem")
        except ProblemError:
            continue
        least = least_height(problem, HIGH)
        assert least is not None
        assert one.lower_bound <= least <= one.height


def test_the_oracle_by_hand():
    a, b = Block("a", 3, live=((0, 2),)), Block("b", 2, live=((1, 4),))
    later, aligned = Block("c", 3, live=((3, 5),)), Block("c", 3, 4, live=((1, 2),))
    space = (Space("smem"),)
    assert least_height(Problem(space, (a, b, later)), HIGH) == 5
    assert least_height(Problem(space, (a, b, aligned)), HIGH) == 8
    assert least_height(Problem(space, (replace(a, align=4), b, aligned)), HIGH) == 9
    assert least_height(Problem(space, (replace(a, fixed=1), b, aligned)), HIGH) == 9
    assert least_height(Problem(space, (a, b, later), (SameStart("a", "b"),)), HIGH) == 5
    assert least_height(Problem(space, (a, b, later), (Apart("a", "c"),)), HIGH) == 8
    pinned = (replace(a, fixed=1), replace(b, fixed=2))
    assert least_height(Problem(space, pinned), HIGH) is None
