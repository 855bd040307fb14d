"""Sizes, explicit sizes, capacity, buffers outside of trees, and ways out of errors."""

import pytest

from tests.memory.support import planned, raw, smem, tmem
from tilewright.memory import (
    Memory,
    Mode,
    Nvmma,
    Options,
    Phase,
    StorageRegion,
    TmemTile,
    check_plan,
    distinct,
    plain_region,
    plan_region,
    plan_with_fallback,
    region_of,
    shared,
    smem_buffer,
    tmem_buffer,
)

S, T = Memory.SMEM, Memory.TMEM


def test_a_region_without_buffers_is_a_warning_and_no_plan():
    result = plan_region(StorageRegion("r", S, ()))
    assert [found.rule for found in result.findings] == ["W1"]
    assert (result.plan, result.errors) == (None, ())
    with pytest.raises(ValueError, match="no referencing storage_alias_local_alloc"):
        result.unwrap()


def test_two_overlap_definitions_need_permission():
    a, b = raw("a", S, 1, 128), raw("b", S, 1, 128)
    region = StorageRegion("r", S, (a, b), (Phase(shared(a), "one"), Phase(shared(b), "two")))
    (error,) = plan_region(region, Options(multi_overlap=False)).errors
    assert (error.rule, error.subject, error.phase) == ("E3", "r", "two")
    assert plan_region(region, Options(live={"a": (0, 1), "b": (2, 3)})).errors == ()


def test_shared_memory_is_rounded_to_128_only_with_a_tree():
    small = raw("a", S, 3, 32)
    assert plan_region(plain_region(small)).unwrap().backing.shape == (96,)
    assert planned(shared(small)).backing.shape == (384,)


def test_buffers_outside_of_the_tree_count_for_the_size_and_are_reported():
    a, big = raw("a", S, 2, 128), raw("big", S, 3, 1000)
    result = plan_region(region_of("r", shared(a), big))
    plan = result.unwrap()
    assert plan.backing.shape == (3072,)
    assert plan.of("big").addresses == (0, 1000, 2000)
    assert plan.outside == (big,)
    (warning,) = result.warnings
    assert (warning.rule, warning.subject) == ("W3", "big")
    assert check_plan(plan) == ()


def test_buffers_of_a_region_without_a_tree_are_not_reported():
    region = StorageRegion("r", S, (raw("a", S, 1, 8), raw("b", S, 1, 8)))
    assert plan_region(region).findings == ()


def test_base_alignment_is_that_of_the_strictest_view():
    tile, plain = smem_buffer("t", (1, 64, 64), 16, Nvmma(128)), smem("p", 1, 64, 64, bits=16)
    assert planned(shared(tile, plain)).backing.alignment_attribute == 1024
    assert planned(shared(plain)).backing.alignment_attribute is None


def test_explicit_size_in_shared_memory_adds_room_only():
    a = raw("a", S, 2, 256)
    region = StorageRegion("r", S, (a,), (Phase(shared(a)),), size_bytes=4096)
    plan = plan_region(region).unwrap()
    assert (plan.backing.shape, plan.backing.size_bytes) == ((4096,), 4096)
    assert plan.of("a").addresses == (0, 256)


@pytest.mark.parametrize("size", [511, 512, 513])
def test_explicit_size_at_the_limit(size: int):
    a = raw("a", S, 2, 256)
    result = plan_region(StorageRegion("r", S, (a,), (Phase(shared(a)),), size_bytes=size))
    assert [found.rule for found in result.findings] == (["E2"] if size < 512 else [])


def test_explicit_size_in_tensor_memory_counts_the_tree():
    a, b = tmem("a", 2, 128, 64, bits=32), tmem("b", 2, 128, 64, bits=32)
    tree = distinct(a, b)
    region = StorageRegion("r", T, (a, b), (Phase(tree),), size_bytes=128 * 128 * 4)
    (error,) = plan_region(region).errors
    assert (error.rule, error.message) == (
        "E2",
        "storage_alias_spec buffer_size_bytes 65536 is too small for computed shape, "
        "requires at least 131072 bytes",
    )


def test_explicit_size_that_is_no_whole_number_of_columns():
    a = tmem("a", 1, 128, 64, bits=32)
    result = plan_region(StorageRegion("r", T, (a,), size_bytes=33000))
    assert [(found.rule, found.message) for found in result.findings] == [
        ("W2", "buffer_size_bytes 33000 is not a multiple of 512; 232 trailing bytes are unused")
    ]
    assert result.unwrap().backing.shape == (128, 64)


def test_column_stride_is_not_declared_but_needed():
    wide = tmem_buffer("a", (1, 128, 64), 16, TmemTile(128, 64, col_stride=2))
    plan = plan_region(plain_region(wide)).unwrap()
    assert (plan.backing.shape, plan.backing.needed, plan.backing.allocated) == ((128, 32), 64, 64)
    assert check_plan(plan) == ()
    assert planned(shared(wide)).backing.shape == (128, 64)


def test_rows_can_be_more_than_declared():
    pair = tmem_buffer("a", (1, 64, 128), 32, TmemTile(64, 64))
    backing = plan_region(plain_region(pair)).unwrap().backing
    assert (backing.shape, backing.rows_needed) == ((64, 128), 128)


@pytest.mark.parametrize("capacity", [255, 256, None])
def test_capacity(capacity: int | None):
    result = plan_region(plain_region(raw("a", S, 2, 128)), Options(capacity=capacity))
    if capacity == 255:
        (error,) = result.errors
        assert (error.rule, error.message) == (
            "E17",
            "storage alias region needs 256 bytes, shared memory has 255",
        )
    else:
        assert result.errors == ()


def test_tiles_are_powers_of_two():
    a = tmem("a", 3, 128, 32, bits=32)
    assert plan_region(plain_region(a)).unwrap().backing.tiles == (3, 128, 32)
    b = tmem("b", 2, 128, 32, bits=32)
    assert plan_region(plain_region(b)).unwrap().backing.tiles == (1, 128, 64)


def test_a_leaf_of_another_region_is_refused():
    a, b = raw("a", S, 1, 128), raw("b", S, 1, 128)
    region = StorageRegion("r", S, (a,), (Phase(shared(a, b)),))
    (error,) = plan_region(region).errors
    assert (error.rule, error.subject, error.path) == ("V4", "b", (1,))


def test_findings_name_the_phase_of_their_tree():
    a, b = raw("a", S, 1, 128), raw("b", S, 3, 128)
    phases = (Phase(shared(a), "one"), Phase(shared(b, group_size=2), "two"))
    (error,) = plan_region(StorageRegion("r", S, (a, b), phases)).errors
    assert (error.rule, error.phase, error.path) == ("E16", "two", (0,))


def test_regions_have_unique_names_and_one_memory():
    with pytest.raises(ValueError, match="two buffers of 'r' have the same name"):
        StorageRegion("r", S, (raw("a", S, 1, 8), raw("a", S, 2, 8)))
    with pytest.raises(ValueError, match="'a' is not in shared memory"):
        StorageRegion("r", S, (raw("a", T, 1, 8),))


def test_all_leaves_that_fail_are_reported_in_the_order_of_the_allocations():
    a, b, c = raw("a", S, 2, 128), raw("b", S, 2, 512), raw("c", S, 2, 1024)
    result = plan_region(region_of("r", distinct(a, b, c)))
    assert [(e.rule, e.subject) for e in result.errors] == [
        ("E6", "b"),
        ("E7", "b"),
        ("E6", "c"),
        ("E7", "c"),
    ]
    # No order makes 1664 a multiple of 512.
    assert {e.notes for e in result.errors} == {
        ("placement=explicit works with the order as it is",)
    }


def test_other_orders_are_tried_where_largest_first_does_not_work():
    a, b, c = raw("a", S, 1, 128), raw("b", S, 1, 256), raw("c", S, 2, 384)
    assert plan_region(region_of("r", distinct(c, b, a))).errors != ()
    assert plan_region(region_of("r", distinct(c, a, b))).errors == ()
    (error,) = plan_region(region_of("r", distinct(a, c, b))).errors
    assert (error.rule, error.notes[0]) == ("E7", "this order works: distinct(c, a, b)")


def test_only_the_group_that_has_to_change_is_named():
    a, b = raw("a", S, 1, 128), raw("b", S, 1, 256)
    c = raw("c", S, 1, 1024)
    (error,) = plan_region(region_of("r", distinct(c, shared(distinct(a, b))))).errors
    assert (error.rule, error.subject, error.notes[0]) == (
        "E7",
        "b",
        "this order works: distinct(b, a)",
    )


def test_an_order_that_does_not_fit_is_not_suggested():
    a, c = raw("a", S, 1, 128), raw("c", S, 1, 384)
    region = StorageRegion("r", S, (a, c), (Phase(distinct(a, c)),))
    (error,) = plan_region(region).errors
    assert error.notes == (
        "this order works: distinct(c, a)",
        "placement=explicit works with the order as it is",
    )
    errors = plan_region(region, Options(capacity=511)).errors
    assert [(e.rule, e.notes) for e in errors] == [("E17", ()), ("E7", ())]


def test_fallback_to_explicit_placement():
    a, c = raw("a", S, 2, 8192), raw("c", S, 2, 16384)
    result = plan_with_fallback(region_of("r", distinct(a, c)))
    assert result.unwrap().mode is Mode.EXPLICIT
    assert [(found.rule, found.subject) for found in result.warnings] == [("R1", "c")]
    assert result.warnings[0].message == (
        "indices cannot be rewritten here (units_between_buffer_groups (24576) must be a multiple "
        "of the original buffer size (16384)); placed by address instead"
    )


def test_fallback_keeps_errors_that_explicit_placement_cannot_cure():
    a, c = raw("a", S, 2, 8192), raw("c", S, 2, 16384)
    result = plan_with_fallback(region_of("r", distinct(a, c)), Options(capacity=1000))
    assert {found.rule for found in result.errors} == {"E17", "E6", "E7"}
    bad = plan_with_fallback(region_of("r", shared(a, group_size=4)))
    assert [found.rule for found in bad.errors] == ["E16"]


def test_text():
    plan = planned(shared(raw("a", S, 2, 256), raw("b", S, 2, 128)))
    assert str(plan) == (
        "'r': 512 bytes of shared memory, reindex, stride 256\n"
        "  a at 0, levels (inf,256)\n"
        "  b at 0, levels (inf,256)"
    )
    region = region_of("r", shared(raw("a", S, 2, 256)))
    assert str(region) == "smem region 'r': shared(a) of a 2x256 bytes"
    columns = planned(shared(tmem("t", 2, 128, 64, bits=32)))
    assert str(columns.backing) == "128 rows x 128 columns of tensor memory"
    with pytest.raises(KeyError):
        plan.of("c")
