"""The strict policy on the general planner: never worse than first fit, and what it gains."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.registry.support import Owner, group_of, places
from tests.memory.registry.test_strict import block_lists, is_sound
from tests.sampling import examples
from tilewright.buffers import Block, BufferGroup, BufferRegistry, FirstFit, GeneralPlanner
from tilewright.memory import planner
from tilewright.memory.registry.general import problem_of
from tilewright.memory.registry.planning import check_spots, extents


@given(block_lists())
@settings(deadline=None)
def test_sound_and_never_larger_than_first_fit(blocks):
    first, best = FirstFit().plan(blocks), GeneralPlanner().plan(blocks)
    check_spots(blocks, best)
    assert is_sound(blocks, best)
    assert all(x <= y for x, y in zip(extents(blocks, best), extents(blocks, first), strict=True))
    assert GeneralPlanner().plan(blocks) == best


@given(block_lists())
@settings(deadline=None)
def test_a_pool_that_does_not_shrink_stays_as_it_was(blocks):
    first, best = FirstFit().plan(blocks), GeneralPlanner().plan(blocks)
    before, after = extents(blocks, first), extents(blocks, best)
    if before == after:
        assert best == first
    for pool, x, y in zip(("shared", "persistent"), after, before, strict=False):
        if x == y and {n: s.host for n, s in best.items()} == {n: s.host for n, s in first.items()}:
            here = [name for name, spot in first.items() if spot.pool == pool]
            assert [best[name] for name in here] == [first[name] for name in here]


def lowest(blocks):
    """The least height of blocks without aliases over all orders of placement at the lowest place,
    which for blocks of any lives includes the best plan."""
    return min(extents(blocks, FirstFit().plan(list(order)))[0] for order in permutations(blocks))


@given(st.data())
@settings(deadline=None, max_examples=examples(60))
def test_children_take_no_more_than_any_order_of_first_fit(data):
    moments = [((0, 1),), ((1, 2),), ((0, 1), (2, 3)), ((1, 3),), None]
    blocks = [
        Block(
            f"b{index}",
            data.draw(st.integers(1, 20)),
            data.draw(st.sampled_from([1, 4, 8])),
            "shared",
            live=data.draw(st.sampled_from(moments)),
        )
        for index in range(data.draw(st.integers(1, 5)))
    ]
    assert extents(blocks, GeneralPlanner("max").plan(blocks))[0] == lowest(blocks)


def siblings(sizes_and_calls, planner=None):
    registry, parent = BufferRegistry(policy="strict", planner=planner), Owner()
    for index, (size, calls) in enumerate(sizes_and_calls):
        child = Owner()
        registry.register("scratch", child, size, "shared")
        registry.register_child(parent, child, f"c{index}", calls=calls)
    return registry, parent


STAIRS = [(2, [(0, 2)]), (1, [(1, 3)]), (1, [(4, 5)]), (3, [(2, 5)])]


def test_where_the_order_of_registration_is_not_the_best():
    # First fit takes the children as they come and is left with a hole below the last.
    registry, parent = siblings(STAIRS, FirstFit())
    assert registry.shared_buffer_size(parent) == 4 * 6
    registry, parent = siblings(STAIRS)
    assert registry.shared_buffer_size(parent) == 4 * 4
    registry.verify(parent)


def test_what_is_called_at_the_same_time_adds_up():
    registry, parent = siblings(STAIRS)
    busiest = max(
        sum(size for size, calls in STAIRS if any(a <= t < b for a, b in calls)) for t in range(5)
    )
    assert registry.shared_buffer_size(parent) == 4 * busiest


def test_without_calls_nothing_moves():
    text = "S a3, S b20, S c8>b, S d8>b, P q4, L l2, S e9>a"
    assert (
        group_of(text, policy="strict").layouts()
        == group_of(text, policy="strict", planner=FirstFit()).layouts()
    )


def test_aliases_lie_around_each_other_and_around_calls():
    registry, parent = siblings([(10, [(0, 1)]), (6, [(1, 2)])])
    registry.register("x", parent, 3, "shared", aliases="c0_shared")
    registry.register("y", parent, 1, "shared", aliases="c0_shared")
    group = registry._groups[parent]
    # x and y are needed all the time; c1 has just the rest of c0's region.
    assert group.shared_buffer_size() == 40
    own = [set(range(group.shared_layout[n].start, group.shared_layout[n].stop)) for n in "xy"]
    other = group.shared_layout["c1_shared"]
    assert not own[0] & own[1]
    assert not (own[0] | own[1]) & set(range(other.start, other.stop))
    registry.verify(parent)


def test_aliases_stay_outside_where_that_is_lower():
    # Each region has to avoid the aliases in the others, which are needed always: with all three
    # inside, only two regions get past each other.
    registry, parent = siblings([(10, [(t, t + 1)]) for t in range(3)])
    for index in range(3):
        registry.register(f"x{index}", parent, 1, "shared", aliases=f"c{index}_shared")
    assert registry.shared_buffer_size(parent) == 4 * 13
    assert [note.partition(":")[0] for note in registry._groups[parent].notes] == [
        f"Buffer 'x{index}' is not laid over 'c{index}_shared'" for index in range(3)
    ]
    registry.verify(parent)


def test_the_problem_has_the_required_constraints():
    blocks = [
        Block("p", 40, 8, "shared"),
        Block("l", 4, 4, "local"),
        Block("k", 8, 4, "shared", live=((0, 2),)),
        Block("c", 8, 4, "shared", "p", ("p",)),
        Block("d", 12, 4, "local", "p", ("p",)),
        Block("q", 8, 8, "persistent"),
    ]
    problem = problem_of(blocks, FirstFit().plan(blocks))
    assert [(b.id, b.space, b.live) for b in problem.blocks] == [
        ("p", "shared", planner.ALWAYS),
        ("k", "shared", ((0, 2),)),
        ("c", "shared", planner.ALWAYS),
        ("d", "shared", planner.ALWAYS),
        ("q", "persistent", planner.ALWAYS),
    ]
    assert problem.relations == (
        planner.Inside("c", "p"),
        planner.Inside("d", "p"),
        planner.Apart("c", "d"),
    )


def test_many_aliases_stay_where_first_fit_put_them():
    blocks = [Block("p", 100, 1, "shared")]
    blocks += [Block(f"c{i}", 2, 1, "shared", "p", ("p",)) for i in range(20)]
    relations = problem_of(blocks, FirstFit().plan(blocks)).relations
    assert relations == tuple(planner.Inside(f"c{i}", "p", 2 * i) for i in range(20))


@pytest.mark.parametrize("count", [12, 40])
def test_groups_with_many_buffers_and_gaps_are_planned(count):
    group = BufferGroup(policy="strict")
    for index in range(count):
        precision = (np.int32, np.float64, np.float16)[index % 3]
        group.register(f"g{index}", 1 + index % 4, "shared", precision=precision)
    total = sum(entry.nbytes for entry in group.entries.values())
    # With everything of 8 bytes first, then 4, then 2, there is no gap.
    assert group.shared_buffer_size() == total


def test_bytes_of_an_empty_buffer_do_not_matter():
    text = "S a3, S e0, S f0>a, S g0>e, L h0>a"
    group = group_of(text, policy="strict")
    assert group.shared_buffer_size() == 12
    blocks = [Block("a", 12, 4, "shared"), Block("e", 0, 8, "shared", live=((0, 1),))]
    for spots in (GeneralPlanner().plan(blocks), FirstFit().plan(blocks)):
        check_spots(blocks, spots)
        assert extents(blocks, spots)[0] == 12


def test_effort_is_passed_on():
    blocks = [Block(f"b{i}", 3 + i % 5, 1, "shared", live=((i, i + 4),)) for i in range(9)]
    most = GeneralPlanner("max").plan(blocks)
    some = GeneralPlanner(planner.Effort(nodes=1)).plan(blocks)
    assert extents(blocks, most)[0] <= extents(blocks, some)[0]
    with pytest.raises(ValueError, match="unknown effort 'little'"):
        GeneralPlanner("little").plan(blocks)
    assert replace(GeneralPlanner(), effort="max") == GeneralPlanner("max")


def test_first_fit_serves_where_no_plan_is_found_in_time(monkeypatch):
    def hopeless(problem, effort):
        raise planner.ProblemError("no plan was found in time")

    registry, parent = siblings(STAIRS)
    monkeypatch.setattr(planner, "plan_problem", hopeless)
    assert registry.shared_buffer_size(parent) == 4 * 6


def test_compat_never_asks_a_planner():
    class Forbidden:
        def plan(self, blocks):
            raise AssertionError("asked")

    group = group_of("S p100, S c30>p, P q5, L l3", planner=Forbidden())
    assert group.shared_layout == places("p[0,100) c[0,30)")
    with pytest.raises(AssertionError, match="asked"):
        group_of("S p100", policy="strict", planner=Forbidden()).build_layouts()
