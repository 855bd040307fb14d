"""The data of the picture."""

from tests.memory.support import planned, raw, tmem
from tilewright.memory import (
    Memory,
    Options,
    Phase,
    StorageRegion,
    distinct,
    memory_maps,
    plain_region,
    plan_region,
    region_map,
    region_of,
    shared,
    target_named,
)
from tilewright.memory.map import Interval, MapCell

S, T = Memory.SMEM, Memory.TMEM


def test_rows_and_cells():
    qk, p = tmem("qk", 2, 128, 128, bits=32), tmem("p", 4, 128, 64, bits=16)
    picture = region_map(planned(shared(qk, distinct(shared(p, group_size=2)))))
    assert [row.name for row in picture.rows] == ["qk", "p"]
    assert picture.rows[1].cells == (
        MapCell(0, 0, Interval(0, 32)),
        MapCell(1, 0, Interval(32, 64)),
        MapCell(2, 1, Interval(128, 160)),
        MapCell(3, 1, Interval(160, 192)),
    )
    assert picture.rows[1].path == "shared > distinct > shared*2 > p"
    assert (picture.extent, picture.used, picture.strides) == (256, 256, (128,))
    assert (picture.dead, picture.padding, picture.waste) == ((), (), "padding 0, dead 0")


def test_padding_is_dead_room_that_alignment_costs():
    x, y, z = raw("x", S, 2, 128), raw("y", S, 2, 32), raw("z", S, 2, 64)
    picture = region_map(planned(distinct(x, y, z)))
    assert picture.dead == (
        Interval(160, 256),
        Interval(320, 384),
        Interval(544, 640),
        Interval(704, 768),
    )
    assert picture.padding == picture.dead
    assert picture.waste == "padding 320, dead 320"
    assert picture.covered == 768 - 320


def test_dead_room_that_is_no_padding():
    a = raw("a", S, 2, 256)
    region = StorageRegion("r", S, (a,), (Phase(shared(a)),), size_bytes=1024)
    picture = region_map(plan_region(region).unwrap())
    assert (picture.dead, picture.padding) == ((Interval(512, 1024),), ())
    ring = raw("ring", S, 3, 128)
    wide = raw("wide", S, 1, 512)
    hollow = region_map(planned(shared(wide, ring)))
    assert hollow.dead == (Interval(640, 1024),)
    assert hollow.padding == ()
    assert hollow.used == 1152


def test_room_behind_the_last_logical_buffer_is_no_padding():
    """Somebody asked for three times the room; nothing of the rest is lost to alignment."""
    x, y = raw("x", S, 2, 128), raw("y", S, 2, 32)
    region = StorageRegion("r", S, (x, y), (Phase(distinct(x, y)),), size_bytes=1536)
    picture = region_map(plan_region(region).unwrap())
    assert picture.padding == (Interval(160, 256), Interval(416, 512))
    assert picture.dead == (Interval(160, 256), Interval(416, 1536))
    assert picture.waste == "padding 192, dead 1216"


def test_padding_another_buffer_covers_is_not_lost():
    big, x, y = raw("big", S, 1, 384), raw("x", S, 1, 32), raw("y", S, 1, 128)
    picture = region_map(planned(shared(big, distinct(x, y))))
    assert picture.dead == ()


def test_blocks_of_repeated_groups_leave_padding_too():
    p, s = raw("p", T, 4, 8), raw("s", T, 2, 1)
    picture = region_map(planned(shared(distinct(shared(p, group_size=2), s), group_size=2)))
    # Behind the last buffer the region ends, so its block leaves no gap.
    assert (picture.padding, picture.extent) == ((Interval(17, 24),), 41)


def test_buffers_outside_of_trees_have_no_path():
    plan = plan_region(
        region_of("r", shared(raw("a", S, 1, 128)), raw("b", S, 2, 64, source="k.py:3"))
    ).unwrap()
    row = region_map(plan).rows[1]
    assert (row.path, row.source, [cell.logical for cell in row.cells]) == ("", "k.py:3", [0, 1])


def test_phases_are_named():
    a, b = raw("a", S, 1, 128), raw("b", S, 1, 128)
    region = StorageRegion(
        "r", S, (a, b), (Phase(shared(a), "load"), Phase(distinct(a, b), "store"))
    )
    rows = region_map(plan_region(region).unwrap()).rows
    assert [row.phases for row in rows] == [("load", "store"), ("store",)]


def test_totals_against_a_target():
    smem = plan_region(plain_region(raw("a", S, 3, 1000))).unwrap()
    other = plan_region(plain_region(raw("b", S, 1, 64, alignment=128))).unwrap()
    columns = plan_region(plain_region(raw("t", T, 2, 64))).unwrap()
    first, second = memory_maps([smem, columns, other], target_named("sm_100"))
    assert (first.memory, first.used, first.capacity) == (S, 3136, 232448)
    assert first.free == 232448 - 3136
    assert [region.name for region in first.regions] == ["a", "b"]
    assert (second.used, second.capacity, second.free) == (128, 512, 384)
    (unlimited,) = memory_maps([columns])
    assert (unlimited.capacity, unlimited.free) == (None, None)
    assert memory_maps([]) == ()


def test_kernels_are_told_apart():
    plan = plan_region(plain_region(raw("a", S, 1, 64))).unwrap()
    (found,) = memory_maps([plan], kernel="gemm")
    assert (found.kernel, str(found).splitlines()[0]) == (
        "gemm",
        "@gemm: 64 bytes of shared memory",
    )


def test_too_much_is_negative_room():
    plan = plan_region(plain_region(raw("t", T, 5, 128)), Options()).unwrap()
    (found,) = memory_maps([plan], target_named("sm_100"))
    assert found.free == -128


def test_text():
    plan = planned(shared(raw("a", S, 2, 256), raw("b", S, 2, 128)))
    (found,) = memory_maps([plan], target_named("sm_90"))
    assert str(found) == (
        "512 bytes of shared memory, sm_90 has 232448\n"
        "r: 512 bytes, padding 0, dead 0\n"
        "  a: [0]0..256 [1]256..512\n"
        "  b: [0]0..128 [1]256..384"
    )
