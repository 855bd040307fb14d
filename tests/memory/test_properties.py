"""What holds for every tree: placements equal the reference, are proved, and do not depend on mode."""

import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.memory.oracle import Promises, broken, reference
from tests.memory.random_trees import Seeded, TreeMaker, seeded_tree, trees
from tests.sampling import examples
from tilewright.memory import (
    Leaf,
    Memory,
    Mode,
    Options,
    Placement,
    StoragePlan,
    Tree,
    check_plan,
    place_tree,
    plan_region,
    plan_with_fallback,
    region_map,
    region_of,
    validate,
)
from tilewright.memory.placement import merge_levels
from tilewright.memory.plan import try_plan
from tilewright.memory.tree import leaves, size, stride

EXPLICIT = Options(mode=Mode.EXPLICIT)
TIGHT = Options(mode=Mode.EXPLICIT, tight=True)


def addresses(plan: StoragePlan) -> dict[str, tuple[int, ...]]:
    return {p.buffer.name: p.addresses for p in plan.placements}


def promises(plan: StoragePlan, tree: Tree) -> Promises:
    (placed,) = plan.trees
    backing = plan.backing
    return Promises(tree, placed.stride, backing.allocated, backing.alignment, backing.residue)


def opinion(plan: StoragePlan, tree: Tree) -> list[str]:
    """What the oracle finds wrong with a plan."""
    starts = {p.buffer.name: [(a, p.buffer.unit) for a in p.addresses] for p in plan.placements}
    return broken(promises(plan, tree), starts)


@settings(max_examples=examples(150))
@given(trees())
def test_placement_is_that_of_the_reference(tree: Tree):
    placed = place_tree(tree)
    expected_stride, expected = reference(tree)
    assert placed.stride == stride(tree) == expected_stride
    assert placed.size == size(tree)
    assert {p.buffer.name: [*p.addresses] for p in placed.placements} == expected
    assert [p.path for p in placed.placements] == [leaf.path for leaf in leaves(tree)]


@settings(max_examples=examples(150))
@given(trees())
def test_re_indexed_plans_are_proved(tree: Tree):
    result = try_plan(region_of("r", tree), Options())
    assert {e.rule for e in result.errors} <= {"E6", "E7", "E18"}
    if result.plan is None:
        return
    assert check_plan(result.plan) == ()
    assert opinion(result.plan, tree) == []


@settings(max_examples=examples(150))
@given(trees(), st.sampled_from([EXPLICIT, TIGHT]))
def test_explicit_placement_always_works_and_is_proved(tree: Tree, options: Options):
    plan = try_plan(region_of("r", tree), options).unwrap()
    assert check_plan(plan) == ()
    assert opinion(plan, tree) == []


@settings(max_examples=examples(150))
@given(trees())
def test_both_modes_agree_where_both_are_legal(tree: Tree):
    by_index = try_plan(region_of("r", tree), Options()).plan
    assume(by_index is not None)
    by_address = try_plan(region_of("r", tree), EXPLICIT).unwrap()
    assert addresses(by_address) == addresses(by_index)
    assert by_address.backing == by_index.backing


@settings(max_examples=examples(100))
@given(trees())
def test_tight_packing_never_takes_more(tree: Tree):
    ordinary, tight = (try_plan(region_of("r", tree), way).unwrap() for way in (EXPLICIT, TIGHT))
    assert tight.backing.allocated <= ordinary.backing.allocated


@settings(max_examples=examples(100))
@given(trees())
def test_fallback_takes_the_first_mode_that_works(tree: Tree):
    result = plan_with_fallback(region_of("r", tree))
    by_index = try_plan(region_of("r", tree), Options())
    plan = result.unwrap()
    assert plan.mode is (Mode.EXPLICIT if by_index.plan is None else Mode.REINDEX)
    assert {w.rule for w in result.warnings} - {"W4"} == (
        {"R1"} if by_index.plan is None else set()
    )


@settings(max_examples=examples(150))
@given(trees(memories=[Memory.TMEM]))
def test_tensor_memory_is_always_re_indexable(tree: Tree):
    assert [p.reindex_findings for p in place_tree(tree).placements] == [()] * len(leaves(tree))


@settings(max_examples=examples(150))
@given(trees())
def test_slots_times_unit_are_addresses(tree: Tree):
    for placement in place_tree(tree).placements:
        assume(not placement.reindex_findings)
        unit = placement.buffer.unit
        assert tuple(slot * unit for slot in placement.slots) == placement.addresses
        assert placement.slot_count * unit == placement.extent
        assert placement.slot_count >= placement.buffer.count


@settings(max_examples=examples(150))
@given(trees())
def test_levels_mean_the_same_in_every_form(tree: Tree):
    for placement in place_tree(tree).placements:
        placement.verify()
        merged = Placement(placement.buffer, placement.offset, placement.merged)
        active = Placement(placement.buffer, placement.offset, placement.active or placement.levels)
        assert merged.addresses == active.addresses == placement.addresses
        assert merge_levels(placement.merged) == placement.merged
        assert len(placement.strides) == len(placement.radices) + 1


@settings(max_examples=examples(100))
@given(trees(), st.sampled_from([Options(), EXPLICIT]))
def test_a_note_is_only_given_for_what_works(tree: Tree, options: Options):
    result = plan_region(region_of("r", tree), options)
    for error in result.errors:
        for note in error.notes:
            if note.startswith("placement=explicit"):
                assert try_plan(region_of("r", tree), EXPLICIT).plan is not None
            else:
                assert note.startswith("this order works: distinct(")


@settings(max_examples=examples(100))
@given(trees())
def test_the_map_accounts_for_every_byte(tree: Tree):
    plan = try_plan(region_of("r", tree), EXPLICIT).unwrap()
    picture = region_map(plan)
    covered = {
        x
        for row in picture.rows
        for cell in row.cells
        for x in range(cell.interval.start, cell.interval.end)
    }
    dead = {x for place in picture.dead for x in range(place.start, place.end)}
    padding = {x for place in picture.padding for x in range(place.start, place.end)}
    assert covered.isdisjoint(dead)
    assert covered | dead == set(range(picture.extent))
    assert padding <= dead
    assert (picture.covered, picture.dead_total) == (len(covered), len(dead))


@pytest.mark.parametrize("memory", Memory)
def test_same_tree_same_plan(memory: Memory):
    for seed in range(50):
        first, second = (seeded_tree(seed, memory) for _ in range(2))
        assert first == second
        plans = [try_plan(region_of("r", tree), EXPLICIT).unwrap() for tree in (first, second)]
        assert plans[0] == plans[1]
        assert str(plans[0]) == str(plans[1])


def test_random_trees_are_varied_and_valid():
    found = [seeded_tree(seed, memory) for seed in range(300) for memory in Memory]
    assert not [f for tree in found for f in validate(tree) if f.is_error]

    def depth(tree: Tree) -> int:
        return 0 if isinstance(tree, Leaf) else 1 + max(map(depth, tree.children))

    assert max(map(depth, found)) == 5
    sizes = {leaf.group_size for tree in found for leaf in leaves(tree)}
    assert {1, 2, 3, 4, 6, 8, 12} <= sizes
    legal = sum(try_plan(region_of("r", tree), Options()).plan is not None for tree in found)
    assert 0.4 < legal / len(found) < 0.9


@pytest.mark.parametrize("memory", Memory)
def test_two_hundred_buffers_take_about_a_second(memory: Memory):
    tree = TreeMaker(Seeded(7), memory, max_leaves=200).wide_tree()
    assert len(leaves(tree)) == 200
    begin = time.process_time()  # other work on the machine does not count
    plan = plan_with_fallback(region_of("r", tree)).unwrap()
    placed = time.process_time() - begin
    assert check_plan(plan) == ()
    proved = time.process_time() - begin
    assert placed < 1.0
    assert proved < 2.0
