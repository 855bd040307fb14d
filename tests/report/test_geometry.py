"""Scales, depths and gaps."""

import time
from itertools import pairwise

from tests.report.samples import flash_attention, gaps, gemm_ring
from tilewright.memory import Memory, RegionMap
from tilewright.memory.map import Interval
from tilewright.report import geometry
from tilewright.report.geometry import Depth, Scale


def test_a_scale_never_loses_what_has_a_size():
    scale = Scale(512, 64)
    assert scale.span(Interval(0, 512)) == Interval(0, 64)
    assert scale.span(Interval(256, 257)) == Interval(32, 33)
    assert scale.span(Interval(511, 512)) == Interval(63, 64)
    assert scale.span(Interval(0, 8)) == Interval(0, 1)


def test_neighbours_do_not_overlap_at_any_scale():
    for width in (7, 60, 100):
        scale = Scale(96, width)
        edges = [scale.span(Interval(start, start + 32)) for start in (0, 32, 64)]
        assert [edge.start for edge in edges[1:]] == [edge.end for edge in edges[:-1]]
        assert (edges[0].start, edges[-1].end) == (0, width)


def test_depths_count_buffers():
    (memory,) = flash_attention()
    assert geometry.depths(memory.regions[0]) == (
        Depth(Interval(0, 67), 2),
        Depth(Interval(67, 128), 1),
        Depth(Interval(128, 195), 2),
        Depth(Interval(195, 256), 1),
    )
    (memory,) = gaps()
    assert [depth.count for depth in geometry.depths(memory.regions[0])] == [1, 0] * 4


def test_depths_cover_the_region():
    for maps in (gemm_ring(), flash_attention(), gaps()):
        for memory in maps:
            for region in memory.regions:
                found = geometry.depths(region)
                assert found[0].interval.start == 0
                assert found[-1].interval.end == region.extent
                assert all(a.interval.end == b.interval.start for a, b in pairwise(found))


def test_gaps_say_why():
    (memory,) = gaps()
    assert geometry.gaps(memory.regions[0]) == (
        ("padding", Interval(160, 256)),
        ("padding", Interval(320, 384)),
        ("padding", Interval(544, 640)),
        ("padding", Interval(704, 768)),
        ("dead", Interval(768, 896)),
    )


def test_sharers():
    (memory,) = flash_attention()
    region = memory.regions[0]
    qk, p = region.rows[:2]
    assert [(r.name, c.index) for r, c in geometry.sharers(region, p, p.cells[3])] == [("qk", 1)]
    over = [(r.name, c.index) for r, c in geometry.sharers(region, qk, qk.cells[0])]
    assert over == [("p", 0), ("p", 1), ("alpha", 0), ("l", 0), ("m", 0)]


def test_many_gaps_take_linear_time():
    count = 20_000
    holes = tuple(Interval(4 * n, 4 * n + 3) for n in range(count))
    pads = tuple(Interval(4 * n + 1, 4 * n + 2) for n in range(count))
    region = RegionMap("r", "", Memory.SMEM, 4 * count, 4 * count, (), (), holes, pads)
    start = time.process_time()
    found = geometry.gaps(region)
    assert time.process_time() - start < 2
    assert found[:4] == (
        ("dead", Interval(0, 1)),
        ("padding", Interval(1, 2)),
        ("dead", Interval(2, 3)),
        ("dead", Interval(4, 5)),
    )
    assert len(found) == 3 * count
