"""Several overlap definitions over one region (docs/design/storage-alias.md#phases)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.random_trees import Drawn, TreeMaker
from tests.memory.support import raw
from tests.sampling import examples
from tilewright.memory import (
    Buffer,
    Memory,
    Mode,
    Options,
    Phase,
    PlanResult,
    StorageRegion,
    Tree,
    check_plan,
    distinct,
    plan_region,
    shared,
)
from tilewright.memory.tree import leaves

S, T = Memory.SMEM, Memory.TMEM


def region(*trees: Tree, names: str = "abcd") -> StorageRegion:
    buffers = {leaf.buffer.name: leaf.buffer for tree in trees for leaf in leaves(tree)}
    memory = next(iter(buffers.values())).memory
    phases = tuple(Phase(tree, name) for tree, name in zip(trees, names, strict=False))
    return StorageRegion("r", memory, tuple(buffers.values()), phases)


def apart(*trees: Tree) -> dict[str, tuple[int, int]]:
    """Live ranges under which only leaves of one tree meet, where none appears twice."""
    return {
        leaf.buffer.name: (10 * number, 10 * number + 9)
        for number, tree in enumerate(trees)
        for leaf in leaves(tree)
    }


def plan(*trees: Tree, options: Options | None = None) -> PlanResult:
    result = plan_region(region(*trees), options or Options(live=apart(*trees)))
    if result.plan is not None:
        assert check_plan(result.plan, live=apart(*trees)) == ()
    return result


def buffer(name: str, count: int, unit: int) -> Buffer:
    return raw(name, S, count, unit)


def test_phases_without_common_leaves_have_strides_of_their_own():
    first = distinct(buffer("x", 2, 1024), buffer("y", 2, 1024))
    second = distinct(buffer("u", 4, 512))
    found = plan(first, second).unwrap()
    assert [(tree.phase, tree.stride) for tree in found.trees] == [("a", 2048), ("b", 512)]
    assert found.of("u").addresses == (0, 512, 1024, 1536)
    assert found.backing.shape == (4096,)
    assert "stride 2048 in a, stride 512 in b" in str(found)


def test_an_anchor_keeps_its_place_and_gives_its_stride():
    anchor = buffer("k", 2, 1024)
    first = distinct(buffer("x", 2, 1024), anchor)
    second = distinct(anchor, buffer("new", 2, 512), buffer("more", 2, 512))
    found = plan(first, second).unwrap()
    assert found.of("k").addresses == (1024, 3072)
    assert found.of("new").addresses == (0, 2048)
    assert found.of("more").addresses == (512, 2560)
    assert [tree.stride for tree in found.trees] == [2048, 2048]
    assert found.trees[1].of("k").path == (0,)


def test_new_leaves_go_behind_an_anchor_where_there_is_no_room_before_it():
    anchor = buffer("k", 2, 1024)
    first = distinct(anchor, buffer("x", 2, 1024))
    second = distinct(buffer("new", 2, 512), anchor)
    assert plan(first, second).unwrap().of("new").offset == 1024


def test_what_may_share_with_an_anchor_does():
    anchor = buffer("k", 2, 1024)
    first = distinct(anchor, buffer("x", 2, 1024))
    second = shared(anchor, buffer("new", 2, 2048))
    found = plan(first, second).unwrap()
    assert found.of("new").addresses == (0, 2048)


def test_a_stride_that_is_not_used_may_grow():
    anchor = buffer("k", 1, 1024)
    first = distinct(anchor, buffer("x", 1, 512))
    second = distinct(anchor, buffer("new", 2, 2048))
    found = plan(first, second).unwrap()
    assert [tree.stride for tree in found.trees] == [1536, 4096]
    assert found.of("new").addresses == (2048, 6144)


def test_only_offsets_of_use_are_taken_when_indices_are_rewritten():
    anchor = buffer("k", 1, 512)
    first, second = distinct(anchor), distinct(anchor, buffer("new", 1, 2048))
    assert plan(first, second).unwrap().of("new").offset == 2048
    explicit = Options(mode=Mode.EXPLICIT, live=apart(first, second))
    assert plan(first, second, options=explicit).unwrap().of("new").offset == 512


def test_no_room_within_the_stride_of_an_anchor():
    anchor = buffer("k", 2, 1024)
    (error,) = plan(distinct(anchor), distinct(anchor, buffer("new", 2, 512))).errors
    assert (error.rule, error.subject, error.path) == ("E4", "new", (1,))
    assert (
        error.message
        == "not enough space for distinct allocations: need 1536 bytes, have 1024 bytes"
    )


def test_anchors_that_a_later_tree_wants_apart():
    one, two = buffer("one", 2, 512), buffer("two", 2, 512)
    (error,) = plan(shared(one, two), distinct(one, two)).errors
    assert (error.rule, error.subject, error.path, error.phase) == ("E19", "two", (1,), "b")
    assert error.message == (
        "an earlier overlap definition fixed the placement 'two at 0, levels (inf,512)', "
        "which this one contradicts: 'one' is at 0..512"
    )


def test_anchors_with_different_strides():
    one, two = buffer("one", 2, 512), buffer("two", 2, 1024)
    (error,) = plan(shared(one), shared(two), shared(one, two)).errors
    assert (error.rule, error.subject) == ("E19", "two")
    assert "'one' repeats every 512, this every 1024" in error.message


def test_anchors_with_other_group_sizes():
    one = buffer("one", 4, 512)
    (error,) = plan(shared(one), shared(one, group_size=2)).errors
    assert (error.rule, error.subject) == ("E19", "one")
    assert "group sizes [] against [2]" in error.message


def test_new_leaves_beside_an_anchor_in_a_repeated_group():
    anchor = buffer("k", 4, 256)
    first = shared(distinct(anchor, buffer("x", 4, 256)), group_size=2)
    second = shared(distinct(anchor, buffer("new", 4, 128)), group_size=2)
    found = plan(first, second).unwrap()
    assert found.of("k").addresses == (0, 512, 1024, 1536)
    assert found.of("new").addresses == (256, 768, 1280, 1792)


def test_a_block_that_is_too_small_for_a_new_leaf():
    anchor = buffer("k", 4, 256)
    first, second = (
        shared(anchor, group_size=2),
        shared(anchor, buffer("new", 4, 512), group_size=2),
    )
    (error,) = plan(first, second).errors
    assert (error.rule, error.message) == (
        "E4",
        "not enough space for distinct allocations: need 512 bytes, have 256 bytes",
    )


def test_leaves_of_different_phases_may_not_be_live_together():
    trees = (shared(buffer("x", 1, 512)), distinct(buffer("y", 1, 256), buffer("z", 1, 512)))
    live = {"x": (0, 5), "y": (5, 9), "z": (6, 9)}
    (error,) = plan_region(region(*trees), Options(live=live, mode=Mode.EXPLICIT)).errors
    assert (error.rule, error.subject, error.phase) == ("E20", "y", "b")
    assert (
        error.message
        == "'x' (phase a) and 'y' (phase b) are live at the same time but share bytes 0..256"
    )
    later = live | {"y": (6, 9)}
    assert plan_region(region(*trees), Options(live=later, mode=Mode.EXPLICIT)).errors == ()


@pytest.mark.parametrize("live", [None, {}, {"x": (0, 1)}])
def test_not_knowing_when_a_buffer_is_live_means_always(live: dict[str, tuple[int, int]] | None):
    trees = (shared(buffer("x", 1, 512)), shared(buffer("y", 1, 256)))
    assert [e.rule for e in plan_region(region(*trees), Options(live=live)).errors] == ["E20"]


def test_an_anchor_is_at_home_in_both_phases():
    anchor = buffer("k", 1, 512)
    trees = (distinct(anchor, buffer("x", 1, 512)), distinct(anchor, buffer("y", 1, 512)))
    live = {"k": (0, 9), "x": (0, 4), "y": (5, 9)}
    found = plan_region(region(*trees), Options(live=live)).unwrap()
    assert found.of("x").addresses == found.of("y").addresses == (512,)
    assert check_plan(found, live=live) == ()


def test_phase_text():
    assert str(Phase(shared(buffer("x", 1, 8)), "load")) == "load: shared(x)"
    assert str(Phase(shared(buffer("x", 1, 8)))) == "shared(x)"


@st.composite
def two_phases(draw: st.DrawFn) -> tuple[Tree, Tree]:
    """Two trees; the second repeats the first or some of its groups beside new leaves."""
    chance = Drawn(draw)
    maker = TreeMaker(chance, chance.pick((S, T)), max_leaves=8)
    first = maker.tree()
    others = TreeMaker(chance, maker.memory, max_leaves=4)
    others.made, others.count, others.even = 100, maker.count, True
    new = [others.tree() for _ in range(chance.pick((1, 2)))]
    group = chance.pick((shared, distinct))
    return first, group(first, *new)


@settings(max_examples=examples(300))
@given(two_phases(), st.sampled_from([Mode.REINDEX, Mode.EXPLICIT]))
def test_what_is_placed_over_anchors_is_proved(trees: tuple[Tree, Tree], mode: Mode):
    result = plan_region(region(*trees), Options(mode=mode, live={}))
    assert {e.rule for e in result.errors} <= {"E4", "E6", "E7", "E18"}
    if result.plan is None:
        return
    assert check_plan(result.plan, live={}) == ()
    alone = plan_region(region(trees[0]), Options(mode=mode)).plan
    for placement in alone.placements if alone is not None and mode is Mode.REINDEX else ():
        assert result.plan.of(placement.buffer.name).addresses == placement.addresses


def test_first_fit_is_the_lowest_offset():
    """Brute force: no multiple of 128 below the one chosen would have kept all promises."""
    for taken in range(1, 32):
        slots = [k for k in range(5) if taken >> k & 1]
        fixed = [buffer(f"f{k}", 1, 128) for k in range(5)]
        first = distinct(*fixed)
        anchors = [fixed[k] for k in slots]
        second = distinct(*anchors, buffer("new", 1, 256))
        options = Options(mode=Mode.EXPLICIT, live=apart(first) | {"new": (99, 99)})
        chosen = plan_region(region(first, second), options).unwrap().of("new").offset
        free = [k for k in range(10) if k not in slots and k + 1 not in slots]
        assert chosen == 128 * free[0]
