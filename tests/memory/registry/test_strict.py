"""The strict policy: bytes and alignments, overlapping calls, and planners that are not believed."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.memory.registry.support import Owner, group_of
from tilewright.buffers import Block, BufferGroup, BufferRegistry, FirstFit, PlanError, Spot
from tilewright.memory.registry.planning import check_spots


def test_buffers_of_different_types_share_a_pool():
    group = BufferGroup(policy="strict")
    group.register("counter", 1, "shared", precision=np.int32)
    group.register("state", 3, "shared", precision=np.float64)
    group.register("flag", 1, "shared", precision=np.int32)
    group.register("tile", 4, "shared", precision=np.float32, alignment=128)
    assert group.shared_layout == {
        "counter": slice(40, 44),
        "state": slice(16, 40),
        "flag": slice(44, 48),
        "tile": slice(0, 16),  # the strictest first leaves no gap
    }
    assert group.shared_alignment() == 128


def test_first_fit_on_request():
    group = BufferGroup(policy="strict", planner=FirstFit())
    group.register("counter", 1, "shared", precision=np.int32)
    group.register("state", 3, "shared", precision=np.float64)
    group.register("flag", 1, "shared", precision=np.int32)
    # The flag goes into the gap that state's alignment left.
    assert group.shared_layout == {
        "counter": slice(0, 4),
        "state": slice(8, 32),
        "flag": slice(4, 8),
    }


def test_notes_say_why_an_alias_lies_elsewhere():
    group = group_of("S p10, S c20>p, L l5, S d2>l, P q3, S e1>q", policy="strict")
    assert group.notes == (
        "Buffer 'c' is not laid over 'p': out of space: 80 bytes needed.",
        "Buffer 'd' is not laid over 'l': 'l' is a local array.",
        "Buffer 'e' is not laid over 'q': one is scratch, the other persistent.",
    )


def two_children(**calls):
    registry, parent = BufferRegistry(policy="strict"), Owner()
    registry.register("own", parent, 4, "shared")
    for name, size in (("first", 10), ("second", 6)):
        child = Owner()
        registry.register("scratch", child, size, "shared")
        registry.register("kept", child, 2, "local", persistent=True)
        registry.register_child(parent, child, name, calls=calls.get(name))
    return registry, parent


def test_children_that_never_run_together_overlap():
    registry, parent = two_children(first=[(0, 2), (4, 6)], second=[(2, 4)])
    layout = registry._groups[parent].shared_layout
    assert layout["own"] == slice(0, 16)
    assert (layout["first_shared"], layout["second_shared"]) == (slice(16, 56), slice(16, 40))
    # What persists is needed between the calls too.
    assert registry.persistent_local_buffer_size(parent) == 16


@pytest.mark.parametrize(
    "calls", [{}, {"first": [(0, 2)]}, {"first": [(0, 3)], "second": [(2, 4)]}]
)
def test_children_that_may_run_together_do_not(calls):
    registry, parent = two_children(**calls)
    assert registry.shared_buffer_size(parent) == 4 * (4 + 10 + 6)


def test_registering_again_keeps_the_calls():
    registry, parent = two_children(first=[(0, 2)], second=[(2, 4)])
    registry.refresh(parent)
    assert registry.shared_buffer_size(parent) == 56


def test_a_buffer_over_a_childs_region_keeps_others_out():
    registry, parent = two_children(first=[(0, 2)], second=[(2, 4)])
    registry.register("over", parent, 3, "shared", aliases="first_shared")
    layout = registry._groups[parent].shared_layout
    over, first, second = (layout[name] for name in ("over", "first_shared", "second_shared"))
    # Inside the first child's region, and out of the second's way although that is over the rest.
    assert first.start <= over.start < over.stop <= first.stop
    assert over.stop <= second.start or second.stop <= over.start
    assert registry.shared_buffer_size(parent) == 4 * (4 + 10)


def test_an_empty_call_is_refused():
    with pytest.raises(
        ValueError, match="Child 'first': a call needs a start before its stop: 2, 2"
    ):
        two_children(first=[(2, 2)])


def test_child_region_is_as_aligned_as_its_content():
    registry, parent, child = BufferRegistry(policy="strict"), Owner(), Owner()
    registry.register("x", parent, 1, "shared")
    registry.register("y", parent, 1, "local", persistent=True)
    registry.register("wide", child, 3, "shared", precision=np.float64, alignment=64)
    registry.register("kept", child, 1, "local", persistent=True, precision=np.float64)
    registry.register_child(parent, child, "kid")
    group = registry._groups[parent]
    assert group.shared_layout["kid_shared"].start % 64 == 0
    assert group.persistent_layout["kid_persistent"].start % 8 == 0
    assert (group.shared_alignment(), group.persistent_alignment()) == (64, 8)
    # Only one order needs no gap.
    assert group.shared_layout == {"kid_shared": slice(0, 24), "x": slice(24, 28)}


# Planners are checked


class Answer:
    def __init__(self, spots):
        self.spots = spots

    def plan(self, blocks):
        self.blocks = tuple(blocks)
        return self.spots


GOOD = {"p": Spot("shared", 0), "c": Spot("shared", 8, "p"), "d": Spot("shared", 40)}


def test_a_planner_of_ones_own():
    planner = Answer(GOOD)
    group = group_of("S p10, S c5>p, S d3", policy="strict", planner=planner)
    assert group.shared_layout == {"p": slice(0, 40), "d": slice(40, 52), "c": slice(8, 28)}
    assert planner.blocks == (
        Block("p", 40, 4, "shared"),
        Block("d", 12, 4, "shared"),
        Block("c", 20, 4, "shared", "p", ("p",)),
    )


@pytest.mark.parametrize(
    ("name", "spot", "message"),
    [
        ("d", Spot("shared", 36), "'p' and 'd' overlap in shared memory"),
        ("d", Spot("shared", 42), "'d' needs a multiple of 4, not 42"),
        ("d", Spot("shared", -4), "'d' needs a multiple of 4, not -4"),
        ("d", Spot("local"), "'d' belongs to shared, not local"),
        ("d", Spot("shared", 0, "p"), "'d' cannot be inside 'p'"),
        ("c", Spot("shared", 24, "p"), "'c' extends past the end of 'p'"),
        ("c", Spot("persistent", 0, "p"), "'c' cannot be inside 'p'"),
        ("e", Spot("shared", 80), "not placed exactly once: e"),
    ],
)
def test_a_wrong_answer_is_refused(name, spot, message):
    group = group_of("S p10, S c5>p, S d3", policy="strict", planner=Answer({**GOOD, name: spot}))
    with pytest.raises(PlanError, match=message):
        group.build_layouts()
    assert group._shared_layout is None


@st.composite
def block_lists(draw):
    blocks = []
    for index in range(draw(st.integers(1, 7))):
        pool = draw(st.sampled_from(["shared", "shared", "persistent", "local"]))
        target = draw(st.none() | st.sampled_from(blocks)) if blocks else None
        hosts = (target.name, *target.hosts) if target is not None else ()
        by_name = {block.name: block for block in blocks}
        hosts = tuple(
            h for h in hosts if (by_name[h].pool == "persistent") == (pool == "persistent")
        )
        align = draw(st.sampled_from([1, 2, 4, 8]))
        live = draw(st.none() | st.sampled_from([((0, 1),), ((1, 2),), ((0, 1), (2, 3)), ()]))
        blocks.append(
            Block(
                f"b{index}",
                draw(st.integers(0, 24)),
                align,
                pool,
                target.name if target is not None else None,
                hosts,
                live if pool == "shared" else None,
            )
        )
    # As the strict policy hands them over: without a target first, targets before aliases.
    return [b for b in blocks if b.target is None] + [b for b in blocks if b.target is not None]


def is_sound(blocks, spots):
    """Byte by byte, without looking at the checker: who shares a byte with whom, and may they."""
    by_name = {block.name: block for block in blocks}
    painted = {}
    for block in blocks:
        spot = spots[block.name]
        if spot.host is None and spot.pool != block.pool:
            return False
        if spot.offset < 0 or (block.size and spot.offset % block.align):
            return False
        if spot.host is not None:
            host, around = by_name[spot.host], spots[spot.host]
            if spot.host not in block.hosts or around.pool == "local" or around.pool != spot.pool:
                return False
            if spot.offset < around.offset or spot.offset + block.size > around.offset + host.size:
                return False
        if spot.pool != "local":
            for byte in range(spot.offset, spot.offset + block.size):
                painted.setdefault((spot.pool, byte), []).append(block)
    return all(
        may_share(one, other, spots)
        for users in painted.values()
        for one, other in combinations(users, 2)
    )


def may_share(one, other, spots):
    def chain(name):
        while (name := spots[name].host) is not None:
            yield name

    if one.name in chain(other.name) or other.name in chain(one.name):
        return True
    if spots[one.name].host is not None and spots[one.name].host == spots[other.name].host:
        return False
    if () in (one.live, other.live):
        return True
    if one.live is None or other.live is None:
        return False
    times = [{t for start, stop in b.live for t in range(start, stop)} for b in (one, other)]
    return not times[0] & times[1]


@given(block_lists())
def test_first_fit_is_sound(blocks):
    spots = FirstFit().plan(blocks)
    check_spots(blocks, spots)
    assert is_sound(blocks, spots)
    assert FirstFit().plan(blocks) == spots


@given(block_lists(), st.data())
def test_the_check_agrees_with_painting_bytes(blocks, data):
    spots = dict(FirstFit().plan(blocks))
    for _ in range(data.draw(st.integers(1, 2))):
        name = data.draw(st.sampled_from(sorted(spots)))
        shifted = data.draw(st.integers(-8, 8))
        spots[name] = replace(spots[name], offset=spots[name].offset + shifted)
    try:
        check_spots(blocks, spots)
        accepted = True
    except PlanError:
        accepted = False
    assert accepted == is_sound(blocks, spots)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=7))
def test_first_fit_takes_the_best_filling(sizes):
    group = BufferGroup(policy="strict")
    group.register("p", 40, "shared")
    for index, size in enumerate(sizes):
        group.register(f"c{index}", size, "shared", aliases="p")
    fitting = (
        sum(chosen)
        for count in range(len(sizes) + 1)
        for chosen in combinations(sizes, count)
        if sum(chosen) <= 40
    )
    assert group.shared_buffer_size() == 4 * (40 + sum(sizes) - max(fitting))


def test_many_aliases_of_one_target_are_planned_quickly():
    group = BufferGroup(policy="strict")
    group.register("p", 100, "shared")
    for index in range(60):
        group.register(f"c{index}", 7, "shared", aliases="p")
    assert group.shared_buffer_size() == 4 * (100 + 7 * (60 - 14))


def test_many_buffers_are_placed_one_after_the_other():
    group = BufferGroup(policy="strict")
    for number in range(300):
        group.register(f"b{number}", number % 7 + 1, "shared", precision=np.float32)
    assert group.shared_buffer_size() == 4 * sum(number % 7 + 1 for number in range(300))
