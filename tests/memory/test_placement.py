"""Levels, index maps, and how the two modes round."""

from collections.abc import Iterator
from itertools import product

import pytest

from tests.memory.support import planned, raw
from tilewright.memory import (
    IndexMap,
    Level,
    Memory,
    Mode,
    Options,
    Placement,
    Rounding,
    Tree,
    distinct,
    place_tree,
    plan_region,
    region_of,
    shared,
)
from tilewright.memory.placement import alignment_findings, merge_levels, packed

S, T = Memory.SMEM, Memory.TMEM
EXPLICIT = Options(mode=Mode.EXPLICIT)
TIGHT = Options(mode=Mode.EXPLICIT, tight=True)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([(None, 8)], [(None, 8)]),
        ([(2, 8), (None, 16)], [(None, 8)]),
        ([(2, 8), (None, 24)], [(2, 8), (None, 24)]),
        ([(2, 8), (3, 16), (None, 48)], [(None, 8)]),
        ([(2, 8), (3, 16), (None, 64)], [(6, 8), (None, 64)]),
        ([(2, 8), (3, 24), (None, 72)], [(2, 8), (None, 24)]),
    ],
)
def test_merging(levels: list[tuple[int | None, int]], expected: list[tuple[int | None, int]]):
    assert merge_levels([Level(*level) for level in levels]) == tuple(Level(*e) for e in expected)


@pytest.mark.parametrize(
    ("offset", "digits", "text", "identity"),
    [
        (0, [(None, 1)], "i", True),
        (0, [], "0", True),
        (3, [], "3", False),
        (0, [(None, 4)], "4*i", False),
        (2, [(None, 1)], "i + 2", False),
        (0, [(2, 1), (None, 4)], "(i mod 2) + 4*(i div 2)", False),
        (
            5,
            [(2, 1), (2, 3), (None, 16)],
            "(i mod 2) + 3*(i div 2 mod 2) + 16*(i div 4) + 5",
            False,
        ),
    ],
)
def test_index_maps(offset: int, digits: list[tuple[int | None, int]], text: str, identity: bool):
    found = IndexMap(offset, tuple(Level(*digit) for digit in digits))
    assert (str(found), found.is_identity) == (text, identity)


def test_an_index_map_counts_in_mixed_radix():
    found = IndexMap(5, (Level(2, 1), Level(3, 10), Level(None, 100)))
    assert [found(i) for i in range(13)] == [
        5,
        6,
        15,
        16,
        25,
        26,
        105,
        106,
        115,
        116,
        125,
        126,
        205,
    ]


def test_only_levels_that_are_used_matter():
    one = Placement(raw("a", S, 1, 96), 0, (Level(None, 128),))
    assert (one.active, one.reindex_findings, one.slots, one.slot_count) == ((), (), (0,), 1)
    assert (one.radices, one.strides) == ((), (96,))
    two = Placement(raw("a", S, 2, 96), 0, (Level(None, 128),))
    assert [found.rule for found in two.reindex_findings] == ["E6"]
    group = Placement(raw("a", S, 2, 64), 64, (Level(2, 64), Level(None, 200)))
    assert (group.active, group.slots) == ((Level(None, 64),), (1, 2))


def test_both_complaints_come_with_their_numbers_stride_first():
    placement = Placement(raw("a", S, 2, 96), 128, (Level(None, 256),), path=(0,))
    assert [(found.rule, found.message) for found in placement.reindex_findings] == [
        (
            "E6",
            "units_between_buffer_groups (256) must be a multiple of the original buffer size (96)",
        ),
        ("E7", "buffer_offset (128) must be a multiple of the original buffer size (96)"),
    ]
    with pytest.raises(ValueError, match=r"a at 128, levels \(inf,256\) cannot be re-indexed"):
        _ = placement.index_map


def test_placed_alias_attributes():
    placement = Placement(raw("p", S, 4, 4096), 8192, (Level(2, 4096), Level(None, 16384)))
    assert (placement.offset, placement.radices, placement.strides) == (8192, (2,), (4096, 16384))
    assert placement.addresses == (8192, 12288, 24576, 28672)


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ([Level(2, 8)], "the outermost level has to be unlimited"),
        ([Level(None, 4)], "a block of 4 cannot hold 8"),
        ([Level(4, 8), Level(None, 16)], "a block of 16 cannot hold 32"),
    ],
)
def test_levels_that_do_not_nest(levels: list[Level], message: str):
    with pytest.raises(ValueError, match=message):
        Placement(raw("a", S, 8, 8), 0, tuple(levels)).verify()


def test_packed():
    assert packed(raw("a", S, 3, 10)).addresses == (0, 10, 20)


def test_alignment_of_every_buffer_counts():
    placement = Placement(raw("a", S, 3, 64), 128, (Level(None, 192),))
    (found,) = alignment_findings(placement, 0, 128)
    assert (found.rule, found.message) == (
        "E18",
        "buffer 1 would start at 320, but its layout needs a multiple of 128",
    )
    assert alignment_findings(placement, 0, 64) == ()
    assert alignment_findings(placement, 32, 64) != ()


def test_a_demand_above_128_cannot_be_met_by_unit_alone():
    a, b = raw("a", S, 2, 128), raw("b", S, 2, 512, alignment=1024)
    (error,) = plan_region(region_of("r", shared(distinct(b, a)))).errors
    assert error.rule == "E6"
    c = raw("c", S, 2, 128, alignment=256)
    (error,) = plan_region(region_of("r", distinct(a, c))).errors
    assert (error.rule, error.subject) == ("E18", "c")
    assert error.notes == (
        "this order works: distinct(c, a)",
        "placement=explicit works with the order as it is",
    )
    assert planned(distinct(a, c), options=EXPLICIT).backing.size_bytes == 512


def test_explicit_placement_of_what_cannot_be_re_indexed():
    a, c, b = raw("a", S, 2, 8192), raw("c", S, 2, 16384), raw("b", S, 2, 8192)
    plan = planned(distinct(a, c, b), options=EXPLICIT)
    assert {p.buffer.name: p.addresses for p in plan.placements} == {
        "a": (0, 32768),
        "c": (8192, 40960),
        "b": (24576, 57344),
    }


def test_upstream_stride_errors_succeed_explicitly():
    for first, second, stride in [(16384, 8192, 24576), (32768, 16384, 49152)]:
        tree = distinct(raw("a", S, 2, first), raw("b", S, 2, second))
        (error,) = plan_region(region_of("r", tree)).errors
        assert error.message == (
            f"units_between_buffer_groups ({stride}) must be a multiple of "
            f"the original buffer size ({first})"
        )
        assert planned(tree, options=EXPLICIT).backing.size_bytes == 2 * stride


def test_a_residue_lets_a_strict_buffer_start_behind_a_small_one():
    small, strict = raw("small", S, 1, 128, alignment=128), raw("strict", S, 1, 256, alignment=256)
    plan = planned(distinct(small, strict), options=EXPLICIT)
    assert (plan.backing.alignment, plan.backing.residue) == (256, 128)
    assert (plan.of("strict").offset, plan.backing.size_bytes) == (128, 384)
    assert plan.backing.alignment_attribute == 256


def test_the_lowest_residue_wins_a_tie():
    one, two = raw("one", S, 1, 256, alignment=256), raw("two", S, 1, 128, alignment=128)
    plan = planned(distinct(one, two), options=EXPLICIT)
    assert (plan.backing.residue, plan.backing.size_bytes) == (0, 384)


def test_shared_buffers_of_different_demand_start_apart():
    strict, lax = raw("strict", S, 1, 256, alignment=256), raw("lax", S, 1, 512, alignment=128)
    placed = place_tree(shared(strict, lax), Rounding(Mode.EXPLICIT, residue=128))
    assert (placed.of("strict").offset, placed.of("lax").offset) == (128, 0)


def test_a_stride_only_suits_buffers_that_use_it():
    strict, ring = raw("strict", S, 1, 1024, alignment=1024), raw("ring", S, 3, 128)
    assert place_tree(distinct(strict, ring), Rounding(Mode.EXPLICIT)).stride == 1152
    twice = raw("twice", S, 2, 1024, alignment=1024)
    assert place_tree(distinct(twice, ring), Rounding(Mode.EXPLICIT)).stride == 2048


def test_small_buffers_of_a_copy_engine_get_padded_strides():
    small = raw("small", S, 3, 32, alignment=128)
    assert planned(shared(small), options=TIGHT).of("small").addresses == (0, 128, 256)


def test_tight_packing_follows_the_views_alone():
    x, y, z = raw("x", S, 3, 128, 16), raw("y", S, 3, 32, 16), raw("z", S, 3, 128, 16)
    plan = planned(distinct(x, y, z), options=TIGHT)
    assert [p.offset for p in plan.placements] == [0, 128, 160]
    assert plan.trees[0].stride == 288
    columns = planned(distinct(raw("n", T, 2, 1), raw("w", T, 2, 64)), options=TIGHT)
    assert [p.offset for p in columns.placements] == [0, 1]
    scales = planned(distinct(raw("n", T, 1, 1), raw("s", T, 1, 4, 4)), options=TIGHT)
    assert [p.offset for p in scales.placements] == [0, 4]


def test_re_indexing_knows_no_tight_packing():
    with pytest.raises(ValueError, match="tight packing needs explicit placement"):
        Rounding(Mode.REINDEX, tight=True)
    with pytest.raises(ValueError, match="tight packing needs explicit placement"):
        Rounding(Mode.REINDEX, residue=128)


def all_tiny_trees() -> Iterator[Tree]:
    """Every tree of two or three leaves over a few units, alignments and group sizes."""
    shapes = [(128, 128), (128, 512), (256, 256), (64, 16)]
    for first, second, third in product(shapes, repeat=3):
        a, b, c = (
            raw(name, S, 2, unit, alignment)
            for name, (unit, alignment) in zip("abc", (first, second, third), strict=True)
        )
        yield distinct(a, b, c)
        yield shared(a, distinct(b, c), group_size=2)
        yield distinct(shared(a, group_size=2), shared(b, c))


def test_no_residue_gives_less_storage_than_the_one_chosen():
    for tree in all_tiny_trees():
        plan = planned(tree, options=EXPLICIT)
        strictest = plan.backing.alignment
        rounded = [
            -(-place_tree(tree, Rounding(Mode.EXPLICIT, residue=residue)).extent // 128) * 128
            for residue in range(0, strictest, 128)
        ]
        assert plan.backing.size_bytes == min(rounded)
        assert plan.backing.residue == 128 * rounded.index(min(rounded))


def test_text():
    placed = place_tree(shared(raw("a", S, 2, 256), shared(raw("b", S, 4, 64), group_size=2)))
    assert str(placed) == "stride 256\n  a at 0, levels (inf,256)\n  b at 0, levels (inf,128)"
    assert placed.of("b").stride == 256
    with pytest.raises(KeyError):
        placed.of("c")
