"""Suggestions for kernels that need more memory than there is."""

import time

import pytest

from tests.memory.support import raw
from tilewright.memory import (
    Buffer,
    Memory,
    Mode,
    Options,
    StorageRegion,
    check_plan,
    distinct,
    fitting_changes,
    plain_region,
    plan_region,
    region_of,
    shared,
    target_named,
)
from tilewright.memory.plan import try_plan
from tilewright.memory.workload import occupied

S, T = Memory.SMEM, Memory.TMEM
SM_90 = target_named("sm_90").capacity(S)


def buffer(name: str, count: int, unit: int) -> Buffer:
    return raw(name, S, count, unit)


def gemm() -> list[StorageRegion]:
    sizes = (("a_tiles", 3, 32768), ("b_tiles", 3, 32768), ("c_tile", 1, 65536))
    return [plain_region(buffer(*size)) for size in sizes]


def texts(regions: list[StorageRegion], capacity: int, options: Options | None = None) -> list[str]:
    """All suggestions, each planned and proved once more here."""
    memory = regions[0].memory
    found = fitting_changes(regions, memory, capacity, options)
    mode = options.mode if options else Mode.REINDEX
    for change in found:
        plans = [try_plan(region, Options(mode=mode)).unwrap() for region in change.regions]
        assert [check_plan(plan) for plan in plans] == [()] * len(plans)
        assert occupied(plans) == change.total <= capacity
    return [str(change) for change in found]


def test_a_pipelined_matrix_product():
    live = {"a_tiles": (0, 10), "b_tiles": (0, 10), "c_tile": (11, 12)}
    assert texts(gemm(), SM_90, Options(live=live)) == [
        "fits with storage of 'c_tile' shared with 'a_tiles' "
        "as shared(shared(a_tiles, group_size=3), c_tile) (196608 bytes)",
        "fits with storage of 'c_tile' shared with 'b_tiles' "
        "as shared(shared(b_tiles, group_size=3), c_tile) (196608 bytes)",
        "fits with 2 instead of 3 buffers of 'a_tiles' and 'b_tiles' (196608 bytes)",
    ]


def test_without_live_ranges_the_condition_is_said():
    condition = ", if they are never live at the same time"
    assert texts(gemm(), SM_90) == [
        "fits with storage of 'b_tiles' shared with 'a_tiles' as shared(shared(a_tiles, "
        f"group_size=3), shared(b_tiles, group_size=3)){condition} (163840 bytes)",
        "fits with storage of 'c_tile' shared with 'a_tiles' "
        f"as shared(shared(a_tiles, group_size=3), c_tile){condition} (196608 bytes)",
        "fits with storage of 'c_tile' shared with 'b_tiles' "
        f"as shared(shared(b_tiles, group_size=3), c_tile){condition} (196608 bytes)",
        "fits with 2 instead of 3 buffers of 'a_tiles' and 'b_tiles' (196608 bytes)",
    ]


def test_regions_that_are_live_together_are_not_shared():
    live = {"a_tiles": (0, 10), "b_tiles": (0, 10), "c_tile": (10, 12)}
    assert texts(gemm(), SM_90, Options(live=live)) == [
        "fits with 2 instead of 3 buffers of 'a_tiles' and 'b_tiles' (196608 bytes)"
    ]


def test_what_fits_needs_no_change():
    assert texts(gemm(), 262144) == []


def test_the_harshest_cut_and_beyond():
    live = {"a_tiles": (0, 10), "b_tiles": (0, 10), "c_tile": (11, 12)}
    assert texts(gemm(), 131072, Options(live=live)) == [
        "fits with 1 instead of 3 buffers of 'a_tiles' and 'b_tiles' (131072 bytes)"
    ]
    # With one stage each and the output over `a`, 65536 + 32768 would do: three changes.
    assert texts(gemm(), 131071, Options(live=live)) == []


def test_an_alias_and_fewer_stages():
    regions = [plain_region(buffer("ring", 4, 1024)), plain_region(buffer("tail", 1, 4096))]
    live = {"ring": (0, 1), "tail": (2, 3)}
    assert texts(regions, 4096, Options(live=live)) == [
        "fits with storage of 'tail' shared with 'ring' "
        "as shared(shared(ring, group_size=4), tail) (4096 bytes)"
    ]
    extra = plain_region(buffer("extra", 2, 1024))
    always = live | {"extra": (0, 3)}
    assert texts([*regions, extra], 5120, Options(live=always)) == [
        "fits with storage of 'tail' shared with 'ring' as shared(shared(ring, group_size=4), tail) "
        "and 1 instead of 2 buffers of 'extra' (5120 bytes)"
    ]


def test_an_alias_is_named_with_the_group_size_that_makes_it_fit():
    """shared(a, c) would give each of eight buffers of c the room of an a."""
    a, c = plain_region(buffer("a", 1, 131072)), plain_region(buffer("c", 8, 16384))
    (text,) = [text for text in texts([a, c], SM_90) if "storage of" in text]
    assert "'c' shared with 'a' as shared(a, shared(c, group_size=8))" in text


def test_stages_counted_by_a_group_size():
    a, b, c = buffer("a", 4, 1024), buffer("b", 4, 1024), buffer("c", 1, 4096)
    region = region_of("r", shared(shared(distinct(a, b), group_size=4), c))
    assert texts([region], 7000) == [
        "fits with group_size=3 instead of 4, with 3 instead of 4 buffers of 'a' and 'b' (6144 bytes)"
    ]


def test_stages_of_a_tree():
    qk, p = buffer("qk", 3, 1024), buffer("p", 6, 256)
    region = region_of("r", shared(qk, shared(p, group_size=2)))
    assert texts([region], 2048) == [
        "fits with 2 instead of 3 buffers of 'qk', 4 instead of 6 of 'p' (2048 bytes)"
    ]


def test_another_order_that_loses_less_to_alignment():
    narrow, wide = raw("narrow", T, 1, 16), raw("wide", T, 1, 256)
    region = region_of("r", distinct(narrow, wide))
    assert plan_region(region).unwrap().backing.allocated == 512
    assert texts([region], 300) == ["fits with the order distinct(wide, narrow) (272 columns)"]


def test_the_mildest_cut_is_named_once():
    assert texts([plain_region(buffer("ring", 8, 1024))], 5000) == [
        "fits with 4 instead of 8 buffers of 'ring' (4096 bytes)"
    ]


def test_explicit_sizes_and_several_phases_are_left_alone():
    a, b = buffer("a", 2, 1024), buffer("b", 2, 1024)
    sized = StorageRegion("s", S, (a,), size_bytes=4096)
    assert texts([sized, plain_region(b)], 5000) == []


def test_regions_that_cannot_be_planned_get_no_suggestions():
    a, c = buffer("a", 2, 8192), buffer("c", 2, 16384)
    assert texts([region_of("r", distinct(a, c))], 1000) == []


@pytest.mark.parametrize("capacity", [0, 31])
def test_nothing_fits_into_nothing(capacity: int):
    assert texts([plain_region(buffer("a", 2, 32))], capacity) == []


def test_very_many_stages_are_not_all_tried():
    """20000 buffers: some numbers are planned, and one that fits is named."""
    start = time.process_time()
    (text,) = texts([plain_region(buffer("ring", 20_000, 128))], 128 * 1000)
    assert time.process_time() - start < 5
    assert text == "fits with 967 instead of 20000 buffers of 'ring' (123776 bytes)"
