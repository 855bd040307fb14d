"""Random problems of several spaces: every plan keeps every promise, is repeatable and is good."""

import random
from dataclasses import replace

import pytest

from tests.memory.planner.exhaustive import broken
from tests.memory.planner.random_problems import Planted, planted_problem
from tilewright.memory.planner import (
    Block,
    Effort,
    Inside,
    MayOverlap,
    Problem,
    SameStart,
    plan_problem,
)
from tilewright.memory.planner.check import check_heights, check_offsets


def assert_valid(planted: Planted) -> None:
    problem = planted.problem
    plan = plan_problem(problem)
    heights = {one.space.name: one.height for one in plan.spaces}
    bounds = {one.space.name: one.lower_bound for one in plan.spaces}
    assert not broken(problem, plan.offsets)
    assert check_offsets(problem, plan.offsets) == ()
    assert check_heights(problem, plan.offsets, heights, bounds) == ()
    assert all(bounds[name] <= planted.height(name) for name in bounds)


def test_planted_problems_are_what_they_should_be():
    problems = [planted_problem(random.Random(seed)) for seed in range(200)]
    assert all(not broken(planted.problem, planted.offsets) for planted in problems)
    blocks = [block for planted in problems for block in planted.problem.blocks]
    relations = [r for planted in problems for r in planted.problem.relations]
    assert sum(len(block.live) > 1 for block in blocks) > 300
    assert sum(block.fixed is not None for block in blocks) > 300
    assert sum(block.align > 1 for block in blocks) > 300
    assert sum(len(planted.problem.spaces) > 1 for planted in problems) > 100
    assert {type(r).__name__ for r in relations} == {"Apart", "Inside", "MayOverlap", "SameStart"}


def test_plans_are_valid():
    for seed in range(250):
        assert_valid(planted_problem(random.Random(seed)))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 11_000, 1000))
def test_ten_thousand_plans_are_valid(start: int):
    for seed in range(start, start + 1000):
        assert_valid(planted_problem(random.Random(seed)))


@pytest.mark.parametrize("nodes", [0, 1, 50, 1000])
def test_the_same_nodes_give_the_same_plan(nodes: int):
    for seed in range(15):
        problem = planted_problem(random.Random(seed), 24).problem
        plan = plan_problem(problem, Effort(nodes=nodes))
        again = plan_problem(problem, Effort(nodes=nodes))
        assert plan.offsets == again.offsets
        assert plan.spaces == again.spaces


def heights(problem: Problem, effort: str = "max") -> list[int]:
    return [one.height for one in plan_problem(problem, effort).spaces]


def test_names_do_not_change_the_height():
    for seed in range(60):
        problem = planted_problem(random.Random(seed), 8).problem
        names = {block.id: f"x{n * 7919 % 1000}" for n, block in enumerate(problem.blocks)}
        renamed = Problem(
            problem.spaces,
            tuple(replace(block, id=names[block.id]) for block in problem.blocks),
            tuple(
                replace(r, child=names[r.child], parent=names[r.parent])
                if isinstance(r, Inside)
                else replace(r, a=names[r.a], b=names[r.b])
                for r in problem.relations
            ),
        )
        assert heights(renamed) == heights(problem)


def test_permission_to_overlap_never_costs():
    for seed in range(60):
        rng = random.Random(seed)
        problem = planted_problem(rng, 8).problem
        here = problem.in_space("smem")
        if len(here) < 2:
            continue
        one, two = rng.sample(here, 2)
        relaxed = replace(problem, relations=(*problem.relations, MayOverlap(one.id, two.id)))
        assert all(a <= b for a, b in zip(heights(relaxed), heights(problem), strict=True))


def test_a_smaller_block_never_costs():
    for seed in range(60):
        rng = random.Random(seed)
        problem = planted_problem(rng, 8).problem
        tied = {id for r in problem.relations if isinstance(r, Inside | SameStart) for id in r.pair}
        sized = [b for b in problem.blocks if b.size and b.id not in tied]
        if not sized:
            continue
        chosen = rng.choice(sized)
        smaller = replace(chosen, size=rng.randrange(chosen.size))
        blocks = tuple(smaller if b.id == chosen.id else b for b in problem.blocks)
        shrunk = heights(replace(problem, blocks=blocks))
        assert all(a <= b for a, b in zip(shrunk, heights(problem), strict=True))


def first_fit_by_size(blocks: list[Block]) -> int:
    """How high first fit gets, written down from its description."""
    placed: list[tuple[Block, int]] = []
    for block in sorted(blocks, key=lambda block: -block.size):
        near = [
            (offset, offset + other.size)
            for other, offset in placed
            if any(s < oe and os < e for s, e in block.live for os, oe in other.live)
        ]
        offset = 0
        while hit := [end for start, end in near if start < offset + block.size and offset < end]:
            offset = -(-max(hit) // block.align) * block.align
        placed.append((block, offset))
    return max(offset + block.size for block, offset in placed)


def test_never_worse_than_first_fit_by_size():
    lower = 0
    for seed in range(50):
        rng = random.Random(seed)
        blocks: list[Block] = []
        for number in range(rng.randint(2, 30)):
            start = rng.randrange(40)
            align = rng.choice([16, 128, 1024])
            live = ((start, start + rng.randint(1, 25)),)
            blocks.append(Block(f"b{number}", rng.randint(1, 40) * 128, align, live=live))
        problem = Problem(planted_problem(rng, 0).problem.spaces[:1], tuple(blocks))
        height = plan_problem(problem).height("smem")
        assert height <= first_fit_by_size(blocks)
        lower += height < first_fit_by_size(blocks)
    assert lower > 10
