"""The search kernel alone: right for every limit and every preference, the same when compiled."""

import random
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from tests.memory.planner.random_problems import random_problem
from tilewright.memory.planner import Effort, Problem, ProblemError, plan_problem
from tilewright.memory.planner.accelerate import compiled, engine
from tilewright.memory.planner.climb import Climb
from tilewright.memory.planner.conflicts import conflicts_of
from tilewright.memory.planner.decompose import SubProblem, parts_of
from tilewright.memory.planner.greedy import best_quick
from tilewright.memory.planner.kernel import DEEP, FOUND, GOING, NONE, run
from tilewright.memory.planner.oriented import OrientedSearch
from tilewright.memory.planner.state import NODES, State, Tables
from tilewright.memory.planner.tables import fresh_state, tables_of

ENOUGH = 100_000


def parts(seeds: range, most: int) -> Iterator[tuple[random.Random, SubProblem, int]]:
    """Parts with their least height, by the other exact search."""
    for seed in seeds:
        rng = random.Random(seed)
        problem = random_problem(rng, most, scale=rng.choice([1, 3, 16]))
        try:
            plan_problem(problem, Effort(nodes=0))
        except ProblemError:
            continue
        for part in parts_of(conflicts_of(problem.blocks, problem.relations)):
            least = least_of(problem, part)
            if part.movable and least is not None:
                yield rng, part, least


def least_of(problem: Problem, part: SubProblem) -> int | None:
    ids = {block.id for block in part.blocks}
    relations = [r for r in problem.relations if {*r.pair} <= ids]
    search = OrientedSearch(conflicts_of(part.blocks, relations), [], part.loads, part.bound)
    search.run(3000)
    return part.height(search.best) if search.is_exhausted and search.best else None


def fresh(rng: random.Random, part: SubProblem, limit: int) -> tuple[Tables, State]:
    """A search with blocks preferred in a random order."""
    rank = [*range(len(part.blocks))]
    rng.shuffle(rank)
    tables = tables_of(part)._replace(rank=rank)
    return tables, fresh_state(part, tables, limit, 3)


def assert_plan(part: SubProblem, offsets: list[int], limit: int) -> None:
    assert part.height(offsets) <= limit
    for number, (offset, block) in enumerate(zip(offsets, part.blocks, strict=True)):
        assert offset % block.align == 0
        assert block.fixed in (None, offset)
        for other in part.adjacent[number]:
            above = offset >= offsets[other] + part.blocks[other].size
            assert above or offset + block.size <= offsets[other]


def assert_every_limit_is_decided(seeds: range, most: int) -> None:
    decided = {FOUND: 0, NONE: 0}
    for rng, part, least in parts(seeds, most):
        for limit in sorted({part.bound, least - 1, least, least + 1}):
            if limit < part.bound:
                continue
            tables, state = fresh(rng, part, limit)
            status = run(tables, state, ENOUGH)
            assert status == (FOUND if limit >= least else NONE)
            decided[status] += 1
            if status == FOUND:
                assert_plan(part, [*state.offset], limit)
    assert decided[FOUND] > len(seeds)
    assert decided[NONE] > len(seeds) / 20


def test_every_limit_is_decided():
    assert_every_limit_is_decided(range(300), 8)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(5000, 9000, 1000))
def test_every_limit_of_larger_parts_is_decided(start: int):
    assert_every_limit_is_decided(range(start, start + 1000), 11)


def test_the_bound_is_never_above_the_least_height():
    assert all(part.bound <= least for _, part, least in parts(range(300, 600), 7))


def test_a_search_can_be_stopped_anywhere():
    for rng, part, least in parts(range(40), 8):
        tables, whole = fresh(rng, part, least)
        status = run(tables, whole, ENOUGH)
        state = fresh_state(part, tables, least, 3)
        pieces = [run(tables, state, 1) for _ in range(whole.at[NODES] + 1)]
        assert pieces[-1] == status == FOUND
        assert state.offset == whole.offset
        assert set(pieces) <= {GOING, FOUND}


def test_too_few_levels_are_said():
    for rng, part, least in parts(range(60), 8):
        tables, state = fresh(rng, part, least)
        short = state._replace(frame_block=[0])
        assert run(tables, short, ENOUGH) in (DEEP, FOUND)


def test_a_climb_only_goes_down():
    gained = 0
    for _, part, least in parts(range(200), 10):
        quick = best_quick(part)
        climb = Climb(part, quick)
        for _ in range(10):
            climb.trial()
        assert least <= climb.best.height <= quick.height
        assert_plan(part, [*climb.best.offsets], climb.best.height)
        gained += climb.best.height < quick.height
    assert gained > 0


def test_unknown_backends_are_refused():
    with pytest.raises(ValueError, match="unknown backend 'gpu'; known: auto, python, numba"):
        engine("gpu")


def test_a_short_search_loads_nothing():
    # In a process of its own: another test here may have loaded the compiled kernel.
    script = (
        "import sys\n"
        "from tilewright.memory.planner.accelerate import PYTHON, engine\n"
        "assert engine('auto', 0.5) is PYTHON\n"
        "assert 'numba' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
def test_compiled_and_plain_visit_the_same_nodes():
    fast = compiled()
    for rng, part, least in parts(range(400), 10):
        for limit in {max(part.bound, least - 1), least}:
            tables, state = fresh(rng, part, limit)
            arrays = fast.state(state)
            changed = fresh_state(part, tables, limit, 3)
            status = fast.run(fast.tables(tables), arrays, ENOUGH)
            first = run(tables, changed, 3)
            moved = fast.state(changed)
            rest = fast.run(fast.tables(tables), moved, ENOUGH) if first == GOING else first
            assert rest == status
            assert run(tables, state, ENOUGH) == status
            assert [*arrays.at] == [*moved.at] == state.at
            assert [*arrays.offset] == [*moved.offset] == state.offset


@pytest.mark.slow
@pytest.mark.skipif(find_spec("numba") is None, reason="numba is not installed")
def test_backends_make_the_same_plan():
    for seed in range(200):
        problem = random_problem(random.Random(seed), 12, scale=8)
        try:
            plain = plan_problem(problem, Effort(nodes=3000, backend="python"))
        except ProblemError:
            continue
        assert plan_problem(problem, Effort(nodes=3000, backend="numba")).spaces == plain.spaces
