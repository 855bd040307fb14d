"""Storage alias regions as single blocks: disjoint phases share, and all buffers are proved."""

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memory.random_trees import Drawn, TreeMaker
from tests.memory.support import raw, smem, tmem
from tests.sampling import examples
from tilewright.memory import (
    TARGETS,
    Leaf,
    Memory,
    Mode,
    Options,
    distinct,
    plain_region,
    plan_region,
    region_of,
    shared,
)
from tilewright.memory.planner import ALWAYS, DoesNotFit, PlannerFault
from tilewright.memory.planner.problems import (
    RegionArena,
    plan_regions,
    regions_problem,
    sharing_of,
)


def region(name, tree, *outside, **options):
    return plan_region(region_of(name, tree, *outside), Options(**options)).unwrap()


def attention():
    """Three specs of one kernel: loads, the accumulator's epilogue, and the output."""
    qkv = region(
        "qkv",
        distinct(
            smem("q", 1, 128, 64, bits=16),
            shared(smem("k", 2, 64, 64, bits=16), smem("v", 2, 64, 64, bits=16)),
        ),
    )
    stats = region("stats", shared(smem("m", 1, 128, bits=32), smem("l", 1, 128, bits=32)))
    out = region("out", shared(smem("o", 1, 128, 64, bits=32), smem("o16", 1, 128, 64, bits=16)))
    return qkv, stats, out


LIVE = {
    **dict.fromkeys(("q", "k", "v"), (0, 9)),
    **dict.fromkeys(("m", "l"), (2, 14)),
    **dict.fromkeys(("o", "o16"), (10, 15)),
}


def test_specs_of_disjoint_phases_share():
    qkv, stats, out = attention()
    arena = plan_regions([qkv, stats, out], LIVE)
    sizes = [one.backing.allocated for one in (qkv, stats, out)]
    assert arena.height(Memory.SMEM) == max(sizes[0], sizes[2]) + sizes[1]
    assert arena.plan.optimal
    assert arena.height(Memory.TMEM) == 0
    alone = plan_regions([qkv, stats, out])
    assert alone.height(Memory.SMEM) == sum(sizes)


def test_addresses():
    qkv, stats, out = attention()
    arena = plan_regions([qkv, stats, out], LIVE)
    assert arena.address("qkv", "k", 1) == arena.base("qkv") + qkv.of("k").address(1)
    assert arena.address("out", "o") == arena.address("out", "o16")
    for name in ("nobody", ""):
        with pytest.raises(KeyError):
            arena.base(name)


def test_a_region_is_live_whenever_one_of_its_buffers_is():
    one = region("r", shared(raw("a", Memory.SMEM, 1, 64), raw("b", Memory.SMEM, 1, 32)))
    [block] = regions_problem([one], {"a": (0, 2), "b": (5, 7)}).blocks
    assert block.live == ((0, 3), (5, 8))
    [block] = regions_problem([one], {"a": (0, 2), "b": (3, 7)}).blocks
    assert block.live == ((0, 8),)
    [block] = regions_problem([one], {"a": (0, 2)}).blocks
    assert block.live == ALWAYS
    assert (block.id, block.size, block.align) == ("r", one.backing.allocated, 16)


def test_a_hole_in_a_region_is_used():
    outer = region("r", shared(raw("a", Memory.SMEM, 1, 512), raw("b", Memory.SMEM, 1, 512)))
    inner = plan_region(plain_region(raw("c", Memory.SMEM, 1, 512))).unwrap()
    live = {"a": (0, 2), "b": (6, 9), "c": (3, 5)}
    assert plan_regions([outer, inner], live).height(Memory.SMEM) == 512
    assert plan_regions([outer, inner], {**live, "c": (2, 5)}).height(Memory.SMEM) == 1024


def test_both_memories_at_once():
    acc = region("acc", shared(tmem("qk", 2, 128, 64, bits=32), tmem("p", 2, 128, 64, bits=16)))
    more = plan_region(plain_region(tmem("o", 1, 128, 128, bits=32))).unwrap()
    tile = plan_region(plain_region(smem("s", 1, 64, 64, bits=16))).unwrap()
    arena = plan_regions([acc, more, tile], {"qk": (0, 1), "p": (0, 2), "o": (3, 4), "s": (0, 4)})
    assert arena.height(Memory.TMEM) == max(acc.backing.allocated, more.backing.allocated)
    assert arena.height(Memory.SMEM) == 64 * 64 * 2
    assert {space.unit for space in arena.plan.problem.spaces} == {"bytes", "columns"}


def test_a_target_gives_capacities():
    big = plan_region(plain_region(raw("big", Memory.SMEM, 1, 200_000))).unwrap()
    other = plan_region(plain_region(raw("other", Memory.SMEM, 1, 100_000))).unwrap()
    arena = plan_regions([big, other], target=TARGETS["sm_90"])
    with pytest.raises(DoesNotFit, match="300000 of 232448 bytes"):
        arena.plan.require_fit()
    live = {"big": (0, 1), "other": (2, 3)}
    assert plan_regions([big, other], live, TARGETS["sm_90"]).plan.require_fit().fits


def test_a_base_that_is_not_a_multiple_of_its_alignment():
    # Placed by address, the second leaf wants 1024 and the first just 128: the base moves instead.
    small = raw("s", Memory.SMEM, 1, 128, 128)
    wide = raw("w", Memory.SMEM, 1, 1024, 1024)
    one = region("r", distinct(small, wide), mode=Mode.EXPLICIT, tight=True)
    assert one.backing.residue == 896
    other = plan_region(plain_region(raw("x", Memory.SMEM, 1, 16))).unwrap()
    arena = plan_regions([other, one])
    assert arena.address("r", "w") % 1024 == 0
    assert arena.base("r") % 1024 == 896


def test_names_must_tell_buffers_apart():
    one, two = (
        plan_region(replace(plain_region(raw("a", Memory.SMEM, 1, 64)), name=name)).unwrap()
        for name in ("first", "second")
    )
    with pytest.raises(ValueError, match="'first' and 'second' both have a buffer 'a'"):
        plan_regions([one, two], {"a": (0, 1)})
    assert plan_regions([one, two]).height(Memory.SMEM) == 128
    with pytest.raises(ValueError, match="ids are used twice"):
        plan_regions([one, one])


def moved(arena, name, offset):
    """The same arena with one region elsewhere; made without asking the planner."""
    plan = replace(arena.plan, offsets={**arena.plan.offsets, name: offset})
    return RegionArena(arena.regions, arena.live, plan)


def test_an_arena_is_not_believed():
    qkv, stats, out = attention()
    arena = plan_regions([qkv, stats, out], LIVE)
    assert moved(arena, "stats", arena.plan.offsets["stats"]).plan.offsets == arena.plan.offsets
    with pytest.raises(PlannerFault, match=r"overlap: 'stats\.[ml]\[0\]' at|overlap: 'qkv\.\w+"):
        moved(arena, "stats", arena.plan.offsets["qkv"])
    # Inside a region the checker looks too: 'v' moved over 'q'.
    placements = tuple(replace(p, offset=0) if p.buffer.name == "v" else p for p in qkv.placements)
    with pytest.raises(PlannerFault, match="'v'"):
        RegionArena((replace(qkv, placements=placements), stats, out), LIVE, arena.plan)


def test_was_the_sharing_needed():
    one = region("r", shared(raw("a", Memory.SMEM, 1, 512), raw("b", Memory.SMEM, 1, 256)))
    [apart] = sharing_of([one], {"a": (0, 1), "b": (2, 3)})
    assert str(apart) == "512 bytes as written, 512 by live ranges alone: the specs save nothing"
    assert (apart.was_needed, apart.smaller) == (False, 512)
    [together] = sharing_of([one], {"a": (0, 2), "b": (1, 3)})
    assert str(together) == "512 bytes as written, 768 by live ranges alone: the specs save 256"
    assert together.was_needed
    side = region("s", distinct(raw("c", Memory.SMEM, 1, 512), raw("d", Memory.SMEM, 1, 512)))
    [costly] = sharing_of([side], {"c": (0, 1), "d": (2, 3)})
    assert str(costly) == "1024 bytes as written, 512 by live ranges alone: the specs cost 512"
    assert (costly.was_needed, costly.smaller) == (False, 512)


@st.composite
def region_lists(draw):
    """Planned regions with random trees and lives; buffers are named after their region."""
    plans, live = [], {}
    for index in range(draw(st.integers(1, 4))):
        memory = draw(st.sampled_from(Memory))
        tree = _renamed(TreeMaker(Drawn(draw), memory, 4).tree(), f"r{index}_")
        result = plan_region(region_of(f"r{index}", tree), Options(mode=Mode.EXPLICIT))
        if result.plan is None:
            continue
        plans.append(result.plan)
        for buffer in result.plan.region.buffers:
            if draw(st.booleans()):
                first = draw(st.integers(0, 9))
                live[buffer.name] = (first, first + draw(st.integers(0, 4)))
    return plans, live


def _renamed(tree, prefix):
    if isinstance(tree, Leaf):
        return Leaf(replace(tree.buffer, name=prefix + tree.buffer.name))
    return replace(tree, children=tuple(_renamed(child, prefix) for child in tree.children))


@given(region_lists())
@settings(deadline=None, max_examples=examples(60))
def test_random_regions(made):
    plans, live = made
    arena = plan_regions(plans, live)  # proves itself
    for one, other in combinations(plans, 2):
        if one.region.memory is not other.region.memory:
            continue
        for a, b in ((x, y) for x in one.placements for y in other.placements):
            if _apart_in_time(live, a.buffer.name, b.buffer.name):
                continue
            mine, theirs = (
                {
                    arena.base(plan.region.name) + start + byte
                    for start in placement.addresses
                    for byte in (0, placement.buffer.unit - 1)
                }
                for plan, placement in ((one, a), (other, b))
            )
            assert not mine & theirs
    for one in plans:
        for placement in one.placements:
            for index in range(placement.buffer.count):
                start = arena.address(one.region.name, placement.buffer.name, index)
                assert start % placement.buffer.alignment == 0
    total = sum(one.backing.allocated + one.backing.residue + 1024 for one in plans)
    assert sum(arena.height(memory) for memory in Memory) <= total


def _apart_in_time(live, one, other):
    if one not in live or other not in live:
        return False
    (a, b), (c, d) = live[one], live[other]
    return b < c or d < a
